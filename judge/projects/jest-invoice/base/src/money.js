'use strict';

/** 123456 -> "1 234.56" */
function money(cents, currency = '') {
  const sign = cents < 0 ? '-' : '';
  const digits = String(Math.abs(cents)).padStart(3, '0');
  const units = digits.slice(0, -2).replace(/\B(?=(\d{3})+$)/g, ' ');
  return `${sign}${units}.${digits.slice(-2)}${currency && ` ${currency}`}`;
}

/** Rounds half away from zero, as the tax office wants it. */
function round(value) {
  const whole = Math.round(Math.abs(value) + 1e-9);
  return value < 0 && whole !== 0 ? -whole : whole;
}

module.exports = { money, round };

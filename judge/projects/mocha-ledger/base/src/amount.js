'use strict';

const PATTERN = /^(\d{1,3}(?:,\d{3})*|\d+)(?:\.(\d{1,2}))?$/;

/** Parses a written amount and returns whole cents. */
function parseAmount(text) {
  let body = String(text).trim();
  let sign = 1;
  if (body.startsWith('(') && body.endsWith(')')) {
    sign = -1;
    body = body.slice(1, -1).trim();
  } else if (body.startsWith('-')) {
    sign = -1;
    body = body.slice(1);
  }
  const match = PATTERN.exec(body);
  if (!match) {
    throw new RangeError(`not an amount: ${JSON.stringify(text)}`);
  }
  const units = Number(match[1].replace(/,/g, ''));
  const cents = Number((match[2] || '').padEnd(2, '0'));
  const value = units * 100 + cents;
  return value === 0 ? 0 : sign * value;
}

/** Writes cents as 1,234.50; negative amounts stand in parentheses. */
function formatAmount(cents) {
  const abs = Math.abs(cents);
  const units = String(Math.floor(abs / 100)).replace(/\B(?=(\d{3})+$)/g, ',');
  const text = `${units}.${String(abs % 100).padStart(2, '0')}`;
  return cents < 0 ? `(${text})` : text;
}

module.exports = { parseAmount, formatAmount };

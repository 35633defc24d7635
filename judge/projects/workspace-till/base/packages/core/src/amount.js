'use strict';

/** Splits cents into n parts that differ by one cent at most and add up to the whole; the larger ones come first. */
function split(cents, n) {
  const small = Math.floor(cents / n);
  const rest = cents - small * n;
  return Array.from({ length: n }, (_, i) => small + (i < rest ? 1 : 0));
}

/** A share in per cent, rounded to whole cents, halves to the even neighbour. */
function percent(cents, rate) {
  const exact = (cents * rate) / 100;
  const down = Math.floor(exact);
  const part = exact - down;
  if (Math.abs(part - 0.5) < 1e-9) return down % 2 === 0 ? down : down + 1;
  return part < 0.5 ? down : down + 1;
}

const show = (cents) => `${cents < 0 ? '-' : ''}${Math.floor(Math.abs(cents) / 100)}.${String(Math.abs(cents) % 100).padStart(2, '0')}`;

module.exports = { split, percent, show };

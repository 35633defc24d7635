'use strict';

/** FNV-1a, 32 bits. */
function hash(text) {
  let sum = 0x811c9dc5;
  for (const byte of Buffer.from(text, 'utf8')) sum = Math.imul(sum ^ byte, 0x01000193) >>> 0;
  return sum;
}

/** A number from 0 to 9999 for a person and a flag; flags are independent of one another. */
function bucket(salt, key) {
  return hash(`${salt}/${key}`) % 10000;
}

/** The variant of a split such as [{ variant: 'a', percent: 12.5 }, ...]; null when the bucket lies behind all shares. */
function choose(split, at) {
  let limit = 0;
  for (const { variant, percent } of split) {
    limit += Math.round(percent * 100);
    if (at < limit) return variant;
  }
  return null;
}

module.exports = { bucket, choose, hash };

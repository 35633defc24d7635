'use strict';

/** Compares two parsed versions: negative, 0 or positive. A pre-release comes before its release. */
function compare(a, b) {
  return a.major - b.major || a.minor - b.minor || a.patch - b.patch || comparePre(a.pre, b.pre);
}

function comparePre(a, b) {
  if (a.length === 0 || b.length === 0) return b.length - a.length;
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    if (a[i] === undefined) return -1;
    if (b[i] === undefined) return 1;
    if (a[i] === b[i]) continue;
    const numbers = [typeof a[i] === 'number', typeof b[i] === 'number'];
    if (numbers[0] && numbers[1]) return a[i] - b[i];
    if (numbers[0] !== numbers[1]) return numbers[0] ? -1 : 1;
    return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

module.exports = { compare };

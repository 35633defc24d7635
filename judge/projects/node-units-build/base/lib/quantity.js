'use strict';

const { convert } = require('./convert');

/** Reads "5 ft 3 in" as a value of the last unit named. */
function quantity(text) {
  const parts = [...text.trim().matchAll(/(-?\d+(?:\.\d+)?)\s*([A-Za-z]+)/g)];
  if (parts.length === 0 || parts.map((part) => part[0]).join('').replace(/\s/g, '') !== text.replace(/\s/g, '')) {
    throw new SyntaxError(`not a quantity: ${text}`);
  }
  const unit = parts[parts.length - 1][2];
  const value = parts.reduce((sum, [, number, name]) => sum + convert(Number(number), name, unit), 0);
  return { value, unit };
}

module.exports = { quantity };

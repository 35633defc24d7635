'use strict';

const { parse, format } = require('./version');
const { compare } = require('./compare');
const { satisfies, parseRange } = require('./range');

const sort = (versions) => [...versions].sort((a, b) => compare(parse(a), parse(b)));

/** The highest version in the range, or null. */
function maxSatisfying(versions, range) {
  const fit = sort(versions.filter((version) => satisfies(version, range)));
  return fit.length === 0 ? null : fit[fit.length - 1];
}

module.exports = {
  parse,
  format,
  compare: (a, b) => compare(parse(a), parse(b)),
  sort,
  satisfies,
  parseRange,
  maxSatisfying,
};

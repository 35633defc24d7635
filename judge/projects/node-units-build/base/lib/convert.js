'use strict';

const table = require('./units.generated');

function find(name) {
  if (!Object.hasOwn(table, name)) throw new RangeError(`unknown unit ${name}`);
  return table[name];
}

/** Converts a value from one unit into another of the same kind. */
function convert(value, from, to) {
  const [source, target] = [find(from), find(to)];
  if (source.kind !== target.kind) throw new TypeError(`${from} is ${source.kind}, ${to} is ${target.kind}`);
  if (source === target) return value;
  return (value * source.factor + source.offset - target.offset) / target.factor;
}

/** The names of the units of a kind, sorted. */
function units(kind) {
  return Object.keys(table).filter((name) => table[name].kind === kind).sort();
}

module.exports = { convert, units };

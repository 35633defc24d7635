'use strict';

const { bucket, choose } = require('./bucket');
const { compareVersions } = require('./version');

class FlagError extends Error {
  constructor(message) {
    super(message);
    this.name = 'FlagError';
  }
}

const OPERATORS = {
  in: (value, list) => list.includes(value),
  notIn: (value, list) => !list.includes(value),
  startsWith: (value, prefix) => String(value ?? '').startsWith(prefix),
  atLeast: (value, version) => value !== undefined && compareVersions(value, version) >= 0,
  below: (value, version) => value !== undefined && compareVersions(value, version) < 0,
};

function holds({ field, operator, value }, context) {
  if (!Object.hasOwn(OPERATORS, operator)) throw new FlagError(`unknown operator ${operator}`);
  return OPERATORS[operator](context[field], value);
}

/** Says which value a flag has for a context, and by which part of it: { value, reason }. */
function evaluate(flags, name, context, path = []) {
  const flag = flags[name];
  if (flag === undefined) throw new FlagError(`unknown flag ${name}`);
  if (path.includes(name)) throw new FlagError(`flags need one another: ${[...path, name].join(' > ')}`);
  if (!flag.on) return { value: flag.off, reason: 'off' };
  for (const need of flag.needs ?? []) {
    const { value } = evaluate(flags, need.flag, context, [...path, name]);
    if (value !== need.value) return { value: flag.off, reason: `needs ${need.flag}` };
  }
  for (const [index, rule] of (flag.rules ?? []).entries()) {
    if (!rule.when.every((condition) => holds(condition, context))) continue;
    const value = rule.split ? choose(rule.split, bucket(flag.salt ?? name, context.key)) : rule.variant;
    if (value !== null) return { value, reason: `rule ${index + 1}` };
  }
  return { value: flag.fallthrough, reason: 'fallthrough' };
}

module.exports = { evaluate, FlagError };

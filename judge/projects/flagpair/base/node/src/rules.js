import { bucket } from './bucket.js';

const OPERATORS = ['>=', '<'];

function parts(version) {
  return (String(version).match(/\d+/g) ?? []).map(Number);
}

/** Negative, zero or positive, as the versions compare. */
export function compareVersions(left, right) {
  const [a, b] = [parts(left), parts(right)];
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

export function matches(want, got) {
  if (got === undefined || got === null) return false;
  if (Array.isArray(want)) return want.includes(got);
  if (typeof want === 'string') {
    for (const operator of OPERATORS) {
      if (want.startsWith(operator)) {
        const below = compareVersions(got, want.slice(operator.length)) < 0;
        return below === (operator === '<');
      }
    }
  }
  return want === got;
}

function applies(rule, name, context) {
  for (const [key, want] of Object.entries(rule.if ?? {})) {
    if (!matches(want, context[key])) return false;
  }
  if (rule.share === undefined) return true;
  return context.user !== undefined && bucket(name, context.user) < rule.share * 100;
}

/** What the flag is in the context. */
export function evaluate(flag, name, context) {
  if (flag.on) {
    for (const rule of flag.rules ?? []) {
      if (applies(rule, name, context)) return rule.then;
    }
  }
  return flag.else;
}

export function evaluateAll(flags, context) {
  return Object.fromEntries(Object.keys(flags).sort().map((name) => [name, evaluate(flags[name], name, context)]));
}

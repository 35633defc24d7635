'use strict';

const { evaluate } = require('./evaluate');

const WORDS = { in: 'is one of', notIn: 'is none of', startsWith: 'begins with', atLeast: 'is at least', below: 'is below' };

function condition({ field, operator, value }) {
  return `${field} ${WORDS[operator]} ${[].concat(value).join(', ')}`;
}

function outcome(rule) {
  if (!rule.split) return rule.variant;
  return rule.split.map(({ variant, percent }) => `${percent}% ${variant}`).join(', ');
}

/** The flag in words, with a mark at the line that decided. */
function explain(flags, name, context) {
  const flag = flags[name];
  const { value, reason } = evaluate(flags, name, context);
  const lines = [[`off`, `${flag.off} when switched off`]];
  for (const need of flag.needs ?? []) lines.push([`needs ${need.flag}`, `${flag.off} unless ${need.flag} is ${need.value}`]);
  for (const [index, rule] of (flag.rules ?? []).entries()) {
    lines.push([`rule ${index + 1}`, `${outcome(rule)} if ${rule.when.map(condition).join(' and ') || 'anybody'}`]);
  }
  lines.push(['fallthrough', `${flag.fallthrough} otherwise`]);
  const body = lines.map(([mark, text]) => `${mark === reason ? '*' : ' '} ${text}`);
  return `${name} is ${value} for ${context.key}\n${body.join('\n')}\n`;
}

module.exports = { explain };

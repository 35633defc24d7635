import { formatRule } from './rule.js';
import { occurrences } from './occurrences.js';

/** A few lines for people. */
export function describeRule(rule, count = 3) {
  const lines = [formatRule(rule)];
  for (const day of occurrences(rule)) {
    if (lines.length > count) {
      lines.push('  ...');
      break;
    }
    lines.push(`  ${day}`);
  }
  return lines.join('\n');
}

import { addDays, addMonths } from './day.js';

/** Yields the days of a rule. The n-th is counted from the first, so that the 31st comes back after a short month. */
export function* occurrences(rule) {
  for (let n = 0; ; n++) {
    const day = nth(rule, n);
    if (rule.until !== undefined && day > rule.until) return;
    yield day;
  }
}

function nth(rule, n) {
  switch (rule.unit) {
    case 'day':
      return addDays(rule.from, n * rule.step);
    case 'week':
      return addDays(rule.from, 7 * n * rule.step);
    default:
      return addMonths(rule.from, n * rule.step);
  }
}

/** The first day of the rule after today. */
export function next(rule, today = new Date().toISOString().slice(0, 10)) {
  for (const day of occurrences(rule)) {
    if (day > today) return day;
  }
  return null;
}

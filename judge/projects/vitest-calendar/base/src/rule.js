const UNITS = ['day', 'week', 'month'];

/** Reads "every 2 weeks from 2024-01-31 until 2024-06-30". */
export function parseRule(text) {
  const match = /^every (?:(\d+) )?(day|week|month)s? from (\d{4}-\d\d-\d\d)(?: until (\d{4}-\d\d-\d\d))?$/.exec(text.trim());
  if (!match) throw new SyntaxError(`not a rule: ${text}`);
  const [, step, unit, from, until] = match;
  const rule = { step: step === undefined ? 1 : Number(step), unit, from };
  if (rule.step === 0) throw new SyntaxError(`a step of 0 never ends: ${text}`);
  if (until !== undefined) rule.until = until;
  return rule;
}

export function formatRule(rule) {
  if (!UNITS.includes(rule.unit)) throw new TypeError(`unknown unit ${rule.unit}`);
  const every = rule.step === 1 ? `every ${rule.unit}` : `every ${rule.step} ${rule.unit}s`;
  return `${every} from ${rule.from}${rule.until ? ` until ${rule.until}` : ''}`;
}

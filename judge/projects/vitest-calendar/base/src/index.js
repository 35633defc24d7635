export { parseRule, formatRule } from './rule.js';
export { occurrences, next } from './occurrences.js';
export { isOpen, hoursOf } from './hours.js';
export { describeRule } from './describe.js';

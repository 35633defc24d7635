import assert from 'node:assert';
import * as calendar from './src/index.js';
import { addMonths, isLeap } from './src/day.js';

const { next, occurrences, parseRule, formatRule, isOpen, describeRule } = calendar;
let passed = 0;
function check(name, body) {
  body();
  passed += 1;
  process.stdout.write(`ok ${name}\n`);
}
const first = (count, text) => {
  const found = [];
  for (const day of occurrences(parseRule(text))) if (found.push(day) === count) break;
  return found;
};
process.on('exit', () => {
  if (passed !== 7) process.exitCode = 1;
});

check('months', () => {
  assert.deepStrictEqual(first(5, 'every 2 months from 2023-08-31'), ['2023-08-31', '2023-10-31', '2023-12-31', '2024-02-29', '2024-04-30']);
  assert.strictEqual(addMonths('2024-02-29', 12), '2025-02-28');
  assert.strictEqual(addMonths('2024-03-31', -1), '2024-02-29');
  assert.strictEqual(addMonths('1999-12-30', 2), '2000-02-29');
});
check('leap years', () => {
  for (const year of [1600, 1996, 2000, 2400]) assert.strictEqual(isLeap(year), true, String(year));
  for (const year of [1700, 1800, 1900, 2100, 2200, 2023]) assert.strictEqual(isLeap(year), false, String(year));
});
check('weeks', () => assert.deepStrictEqual(first(9, 'every 3 weeks from 2024-12-09 until 2025-01-20'), ['2024-12-09', '2024-12-30', '2025-01-20']));
check('next', () => {
  assert.strictEqual(next(parseRule('every 5 days from 2021-01-01'), '2021-01-01'), '2021-01-06');
  assert.strictEqual(next(parseRule('every 5 days from 2021-01-01'), '2020-12-31'), '2021-01-01');
  assert.strictEqual(next(parseRule('every month from 2021-01-01 until 2021-02-01'), '2021-02-01'), null);
});
check('rules', () => {
  for (const text of ['every 10 months from 2021-01-01 until 2029-01-01', 'every week from 2022-02-02']) assert.strictEqual(formatRule(parseRule(text)), text);
  assert.throws(() => parseRule('every 00 weeks from 2024-01-01'), SyntaxError);
});
check('hours', () => {
  const plan = { week: { 6: [['21:30', '00:30']], 7: [['08:15', '08:45']] } };
  const at = (day, time, before) => isOpen(plan, day, time, before);
  assert.deepStrictEqual([at('2024-06-01', '21:29'), at('2024-06-01', '21:30'), at('2024-06-02', '00:29', '2024-06-01'), at('2024-06-02', '00:30', '2024-06-01'), at('2024-06-02', '08:44'), at('2024-06-02', '08:45'), at('2024-06-03', '08:20')],
    [false, true, true, false, true, false, false]);
});
check('describe', () => assert.strictEqual(describeRule(parseRule('every day from 2024-02-28'), 2), 'every day from 2024-02-28\n  2024-02-28\n  2024-02-29\n  ...'));

import { expect, test } from 'vitest';
import { next, occurrences, parseRule } from '../src/index.js';
import { take } from './support/take.js';

test('comes back to the 31st', () => {
  expect(take(4, occurrences(parseRule('every month from 2023-12-31')))).toEqual([
    '2023-12-31', '2024-01-31', '2024-02-29', '2024-03-31',
  ]);
});

test('ends with the last day', () => {
  expect([...occurrences(parseRule('every week from 2024-02-01 until 2024-02-15'))]).toEqual([
    '2024-02-01', '2024-02-08', '2024-02-15',
  ]);
});

test('next is after today', () => {
  expect(next(parseRule('every day from 2024-01-01'))).toBe('2024-02-29');
  expect(next(parseRule('every week from 2024-02-21'))).toBe('2024-03-06');
});

test('next is null when the rule is over', () => {
  expect(next(parseRule('every day from 2024-01-01 until 2024-02-28'))).toBeNull();
});

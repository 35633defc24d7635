import { describe, expect, it } from 'vitest';
import { addDays, addMonths, daysIn, isLeap, weekday } from '../src/day.js';

describe('day', () => {
  it.each([
    ['2024-02-28', 1, '2024-02-29'],
    ['2024-12-31', 1, '2025-01-01'],
    ['2024-03-01', -1, '2024-02-29'],
  ])('%s plus %d days is %s', (day, count, want) => {
    expect(addDays(day, count)).toBe(want);
  });

  it.each([
    ['2024-01-31', 1, '2024-02-29'],
    ['2023-01-31', 1, '2023-02-28'],
    ['2024-11-30', 3, '2025-02-28'],
    ['2024-01-15', -1, '2023-12-15'],
  ])('%s plus %d months is %s', (day, count, want) => {
    expect(addMonths(day, count)).toBe(want);
  });

  it('knows leap years', () => {
    expect([1900, 2000, 2023, 2024].map(isLeap)).toEqual([false, true, false, true]);
    expect(daysIn(2100, 2)).toBe(28);
  });

  it('counts the week from Monday', () => {
    expect(['2024-02-26', '2024-03-03'].map(weekday)).toEqual([1, 7]);
  });
});

import { describe, expect, it } from 'vitest';
import { hoursOf, isOpen } from '../src/index.js';

const plan = {
  week: { 1: [['09:00', '12:30'], ['14:00', '18:00']], 5: [['20:00', '02:00']] },
  holidays: { '2024-05-20': [] },
};

describe('hours', () => {
  it('is open between opening and closing time', () => {
    expect(isOpen(plan, '2024-02-26', '09:00')).toBe(true);
    expect(isOpen(plan, '2024-02-26', '12:29')).toBe(true);
    expect(isOpen(plan, '2024-02-26', '12:30')).toBe(false);
  });

  it('is closed on holidays', () => {
    expect(hoursOf(plan, '2024-05-20')).toEqual([]);
    expect(isOpen(plan, '2024-05-20', '10:00')).toBe(false);
  });

  it('stays open over midnight', () => {
    expect(isOpen(plan, '2024-03-01', '23:59')).toBe(true);
    expect(isOpen(plan, '2024-03-02', '01:59', '2024-03-01')).toBe(true);
    expect(isOpen(plan, '2024-03-02', '02:00', '2024-03-01')).toBe(false);
  });
});

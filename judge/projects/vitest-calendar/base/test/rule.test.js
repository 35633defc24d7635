import { describe, expect, it } from 'vitest';
import { describeRule, formatRule, parseRule } from '../src/index.js';

describe('parseRule', () => {
  it('reads all parts', () => {
    expect(parseRule('every 2 weeks from 2024-01-31 until 2024-06-30')).toEqual({
      step: 2, unit: 'week', from: '2024-01-31', until: '2024-06-30',
    });
  });

  it('takes one as the step', () => {
    expect(parseRule('every day from 2024-01-01')).toEqual({ step: 1, unit: 'day', from: '2024-01-01' });
  });

  it.each(['', 'every year from 2024-01-01', 'every 0 days from 2024-01-01'])('refuses %j', (text) => {
    expect(() => parseRule(text)).toThrow(SyntaxError);
  });

  it.each(['every month from 2024-01-31', 'every 3 days from 2024-01-01 until 2024-02-01'])('writes %s back', (text) => {
    expect(formatRule(parseRule(text))).toBe(text);
  });
});

describe('describeRule', () => {
  it('lists the first days', () => {
    expect(describeRule(parseRule('every month from 2024-01-31'))).toMatchInlineSnapshot(`
      "every month from 2024-01-31
        2024-01-31
        2024-02-29
        2024-03-31
        ..."
    `);
  });

  it('lists all when there are few', () => {
    expect(describeRule(parseRule('every 2 weeks from 2024-02-01 until 2024-02-20'))).toMatchInlineSnapshot(`
      "every 2 weeks from 2024-02-01 until 2024-02-20
        2024-02-01
        2024-02-15"
    `);
  });
});

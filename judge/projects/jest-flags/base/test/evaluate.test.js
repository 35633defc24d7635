'use strict';

const { evaluate } = require('../src');
const { flags, person, crowd } = require('./support/flags');

describe('rules', () => {
  test.each([
    ['a flag that is off', 'banner', {}, { value: 'none', reason: 'off' }],
    ['somebody on the list', 'new-search', { key: 'user-2' }, { value: 'blue', reason: 'rule 1' }],
    ['a new version in the north', 'new-search', { country: 'SE', version: '2.10.0' }, { value: 'green', reason: 'rule 2' }],
    ['an excluded country', 'new-search', { country: 'DE', version: '3.0.0' }, { value: 'classic', reason: 'fallthrough' }],
    ['a tester', 'beta', { mail: 'test+7@example.test' }, { value: 'yes', reason: 'rule 1' }],
    ['a tester with a later version', 'beta', { mail: 'test+7@example.test', version: '3.0.0' }, { value: 'no', reason: 'fallthrough' }],
    ['somebody without a version', 'beta', { mail: 'test+7@example.test', version: undefined }, { value: 'no', reason: 'fallthrough' }],
  ])('%s', (_, name, changes, want) => {
    expect(evaluate(flags, name, person(changes))).toEqual(want);
  });

  test('an unknown operator is a mistake', () => {
    const odd = { x: { on: true, rules: [{ when: [{ field: 'key', operator: 'like', value: 'u' }], variant: 'a' }] } };
    expect(() => evaluate(odd, 'x', person())).toThrow('unknown operator like');
  });
});

describe('needs', () => {
  test('the value of another flag decides', () => {
    expect(evaluate(flags, 'checkout', person())).toEqual({ value: 'old', reason: 'needs beta' });
    expect(evaluate(flags, 'checkout', person({ mail: 'test+1@example.test' }))).toEqual({ value: 'new', reason: 'fallthrough' });
  });

  test('a circle is named', () => {
    const circle = {
      a: { on: true, off: 0, fallthrough: 1, needs: [{ flag: 'b', value: 1 }] },
      b: { on: true, off: 0, fallthrough: 1, needs: [{ flag: 'a', value: 1 }] },
    };
    expect(() => evaluate(circle, 'a', person())).toThrow('flags need one another: a > b > a');
  });
});

describe('splits', () => {
  const shares = (name) => {
    const counts = { blue: 0, green: 0, classic: 0 };
    for (const one of crowd(4000)) counts[evaluate(flags, name, one).value] += 1;
    return counts;
  };

  test('give everybody the same again', () => {
    expect(crowd(50).map((one) => evaluate(flags, 'new-search', one))).toEqual(crowd(50).map((one) => evaluate(flags, 'new-search', one)));
  });

  test('keep to the percentages', () => {
    const { blue, green } = shares('new-search');
    expect(blue / 40).toBeGreaterThan(22);
    expect(blue / 40).toBeLessThan(28);
    expect(green / 40).toBeGreaterThan(10.5);
    expect(green / 40).toBeLessThan(14.5);
  });
});

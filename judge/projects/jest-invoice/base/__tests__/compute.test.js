'use strict';

const { compute } = require('../src');
const { discountFor } = require('../src/compute');
const { small, large, credit } = require('./data/invoices');

describe('compute', () => {
  test('sums the lines', () => {
    expect(compute(small).net).toBe(3249);
  });

  test('computes tax by rate, rounded once', () => {
    expect(compute(small).taxes).toEqual([
      { rate: 7, base: 1999, tax: 140 },
      { rate: 19, base: 1250, tax: 238 },
    ]);
    expect(compute(small).total).toBe(3627);
  });

  test('gives the discount of the highest step reached', () => {
    const result = compute(large);
    expect(result).toMatchObject({ net: 561399, percent: 5, discount: 28070 });
    expect(result.total).toBe(633522);
  });

  test('rounds negative sums away from zero', () => {
    expect(compute(credit).taxes).toEqual([{ rate: 7, base: -3350, tax: -235 }]);
    expect(compute(credit).total).toBe(-3585);
  });
});

describe('discountFor', () => {
  const steps = [{ from: 100, percent: 2 }, { from: 500, percent: 5 }];
  test.each([
    [99, 0],
    [100, 2],
    [499, 2],
    [500, 5],
    [5000, 5],
  ])('of %d is %d', (net, percent) => {
    expect(discountFor(net, steps)).toBe(percent);
  });
});

'use strict';

const { money } = require('../src');

test.each([
  [0, '0.00'],
  [5, '0.05'],
  [123456, '1 234.56'],
  [-123456789, '-1 234 567.89'],
])('money(%d)', (cents, text) => {
  expect(money(cents)).toBe(text);
});

test('money takes a currency', () => {
  expect(money(100, 'EUR')).toBe('1.00 EUR');
});

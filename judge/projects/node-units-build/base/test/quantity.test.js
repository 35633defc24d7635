'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const { quantity } = require('..');
const { near } = require('../support/near');

test('reads one part', () => {
  assert.deepEqual(quantity('2.5 km'), { value: 2.5, unit: 'km' });
});

test('adds parts up in the last unit', () => {
  const { value, unit } = quantity('5 ft 3 in');
  assert.equal(unit, 'in');
  near(value, 63);
  near(quantity('1h 30min').value, 90);
});

test('refuses the rest', () => {
  for (const text of ['', 'km', '5', '5 ft and 3 in']) assert.throws(() => quantity(text), SyntaxError, text);
});

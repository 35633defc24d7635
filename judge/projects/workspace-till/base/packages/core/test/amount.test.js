'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const { percent, show, split } = require('../src');

test('split loses nothing', () => {
  assert.deepEqual(split(1000, 3), [334, 333, 333]);
  assert.deepEqual(split(2, 4), [1, 1, 0, 0]);
});

test('percent rounds', () => {
  assert.equal(percent(999, 10), 100);
  assert.equal(percent(994, 10), 99);
});

test('show', () => {
  assert.deepEqual([5, 123456, -250].map(show), ['0.05', '1234.56', '-2.50']);
});

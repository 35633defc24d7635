'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const { Cart } = require('../src');

const apple = { code: 'A', name: 'apple', price: 45 };
const bread = { code: 'B', name: 'bread', price: 320 };

test('merges lines of one article', () => {
  const cart = new Cart().add(apple).add(bread).add(apple, 3);
  assert.deepEqual(cart.lines.map(({ article, count }) => [article.code, count]), [['A', 4], ['B', 1]]);
  assert.equal(cart.sum(), 500);
});

test('refuses odd counts', () => {
  for (const count of [0, -1, 1.5]) assert.throws(() => new Cart().add(apple, count), /count of apple/);
});

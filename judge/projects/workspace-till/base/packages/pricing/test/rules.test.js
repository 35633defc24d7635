'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const { Cart } = require('../../core/src');
const { price, rules } = require('../src');

const soap = { code: 'S', name: 'soap', price: 125 };
const water = { code: 'W', name: 'water', price: 80, bottle: true };

test('three for two', () => {
  const cart = new Cart().add(soap, 7);
  assert.deepEqual(price(cart, [rules.threeForTwo('S')]), { extras: [{ text: '3 for 2 soap', cents: -250 }], total: 625 });
  assert.deepEqual(rules.threeForTwo('X')(cart), []);
});

test('a share off, halves to the even cent', () => {
  const at = (count, rate) => price(new Cart().add(soap, count), [rules.off(rate, 100)]).total;
  assert.equal(at(1, 10), 113);
  assert.equal(at(3, 10), 337);
  assert.equal(at(1, 2), 123);
});

test('nothing off below the limit', () => {
  assert.deepEqual(price(new Cart().add(soap), [rules.off(10, 126)]), { extras: [], total: 125 });
});

test('deposit', () => {
  assert.equal(price(new Cart().add(water, 6).add(soap), [rules.deposit(25)]).total, 755);
});

'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { Cart } = require('../../core/src');
const { rules } = require('../../pricing/src');
const { slip } = require('../src');

const want = (name) => fs.readFileSync(path.join(__dirname, 'slips', `${name}.txt`), 'utf8');
const soap = { code: 'S', name: 'soap', price: 125 };
const water = { code: 'W', name: 'water', price: 80, bottle: true };

test('a plain slip', () => {
  assert.equal(slip(new Cart().add(soap, 2).add(water, 3), [rules.deposit(25)]), want('plain'));
});

test('a slip for guests', () => {
  assert.equal(slip(new Cart().add(soap, 4), [rules.threeForTwo('S'), rules.off(2, 100)], 3), want('guests'));
});

test('long names are cut', () => {
  const long = { code: 'L', name: 'x'.repeat(60), price: 100000 };
  assert.ok(slip(new Cart().add(long)).split('\n').every((line) => line.length <= 32));
});

'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const { convert, units } = require('..');
const { near } = require('../support/near');

test('length', () => {
  near(convert(1, 'mi', 'km'), 1.609344);
  near(convert(3, 'ft', 'yd'), 1);
  near(convert(12, 'in', 'ft'), 1);
});

test('mass', () => {
  near(convert(1, 'lb', 'oz'), 16);
  near(convert(2.5, 't', 'kg'), 2500);
});

test('prefixes', () => {
  near(convert(1, 'm', 'um'), 1e6);
  near(convert(250, 'ms', 's'), 0.25);
  near(convert(7, 'Mg', 't'), 7);
});

test('temperature', () => {
  near(convert(100, 'C', 'F'), 212);
  near(convert(-40, 'F', 'C'), -40);
  near(convert(0, 'K', 'C'), -273.15);
});

test('a unit into itself is the same number', () => {
  assert.equal(convert(0.1, 'ft', 'ft'), 0.1);
});

test('refuses what does not fit together', () => {
  assert.throws(() => convert(1, 'm', 's'), /m is length, s is time/);
  assert.throws(() => convert(1, 'parsec', 'm'), /unknown unit parsec/);
  assert.throws(() => convert(1, 'toString', 'm'), RangeError);
});

test('lists the units of a kind', () => {
  assert.deepEqual(units('temperature'), ['C', 'F', 'K']);
});

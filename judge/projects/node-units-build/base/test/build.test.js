'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: wait } = require('node:timers/promises');
const { render, tableOf } = require('../build');

test('the table in lib is what the data give', async () => {
  await wait(800); // the file system of the shared drive is slow to show what was written
  const data = (name) => require(`../data/${name}`);
  const text = fs.readFileSync(path.join(__dirname, '..', 'lib', 'units.generated.js'), 'utf8');
  assert.equal(text, render(tableOf(data('units'), data('prefixes'))));
});

test('a unit may be defined once', () => {
  const kinds = { x: { base: 'a', prefixes: false, units: { b: 1 } }, y: { base: 'c', prefixes: false, units: { b: 2 } } };
  assert.throws(() => tableOf(kinds, {}), /b is defined twice/);
});

'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const path = require('node:path');
const { spawnSync } = require('node:child_process');

const program = path.join(__dirname, '..', 'bin', 'verrange.js');
const run = (...args) => spawnSync(process.execPath, [program, ...args], { encoding: 'utf8' });

test('prints the versions that fit', () => {
  const { status, stdout } = run('~1.2.0', '1.2.5', '1.3.0', '1.2.0');
  assert.equal(stdout, '1.2.5\n1.2.0\n');
  assert.equal(status, 0);
});

test('ends with 1 when none fits and with 2 without arguments', () => {
  assert.equal(run('^9.0.0', '1.0.0').status, 1);
  assert.equal(run().status, 2);
});

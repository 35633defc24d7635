'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const path = require('node:path');
const { spawnSync } = require('node:child_process');

const program = path.join(__dirname, '..', 'bin', 'verrange.js');
function fits(range, versions) {
  const { stdout } = spawnSync(process.execPath, [program, range, ...versions], { encoding: 'utf8', env: { PATH: process.env.PATH } });
  return stdout.trim();
}

for (const [range, yes, no] of [
  ['^0.0.7', '0.0.7', '0.0.8 0.1.0'],
  ['^0.4.1', '0.4.1 0.4.22', '0.5.0 0.4.0 1.0.0'],
  ['^5.6.7', '5.6.7 5.7.0 5.6.100', '6.0.0 5.6.6 4.9.9'],
  ['~0.4.1', '0.4.9', '0.5.0'],
  ['~3.0.2', '3.0.2 3.0.10', '3.1.0 3.0.1'],
  ['>2.0.0 <=2.1.1 || =9.9.9', '2.0.1 2.1.1 9.9.9', '2.0.0 2.1.2 9.9.8'],
  ['>=4.1.0-beta.2', '4.1.0-beta.10 4.1.0 4.2.0', '4.1.0-beta.1 4.1.0-alpha 4.2.0-beta.3'],
  ['^1.2.3', '1.9.0', '1.9.0-rc.1 2.0.0-rc.1'],
]) {
  test(range, () => {
    assert.equal(fits(range, yes.split(' ')), yes.split(' ').join('\n'));
    assert.equal(fits(range, no.split(' ')), '');
  });
}

test('ends with 1 when nothing fits', () => {
  const code = (...args) => spawnSync(process.execPath, [program, ...args], { env: { PATH: process.env.PATH } }).status;
  assert.deepEqual([code('^3.0.0', '1.0.0', '2.0.0'), code('^3.0.0'), code('^3.0.0', '3.4.5'), code()], [1, 1, 0, 2]);
});

test('sorts', () => {
  const script = 'console.log(require("./lib").sort(process.argv.slice(1)).join(" "))';
  const { stdout } = spawnSync(process.execPath, ['-e', script, '2.0.0', '2.0.0-a.b', '2.0.0-2', '2.0.0-10', '10.0.0', '2.0.0-a', '2.0.0-a.1', '2.0.0-B'], { encoding: 'utf8' });
  assert.equal(stdout.trim(), '2.0.0-2 2.0.0-10 2.0.0-B 2.0.0-a 2.0.0-a.1 2.0.0-a.b 2.0.0 10.0.0');
});

'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const { parse, format, compare, sort } = require('../lib');

test('parse reads the parts', () => {
  assert.deepEqual(parse('1.2.3'), { major: 1, minor: 2, patch: 3, pre: [] });
  assert.deepEqual(parse('v10.0.1-rc.11+build.5'), { major: 10, minor: 0, patch: 1, pre: ['rc', 11] });
});

test('parse refuses what is no version', () => {
  for (const text of ['', '1', '1.2', '01.2.3', '1.2.3-', '1.2.x']) {
    assert.throws(() => parse(text), { name: 'VersionError' }, text);
  }
});

test('format writes it back', () => {
  assert.equal(format(parse('1.2.3-beta.2')), '1.2.3-beta.2');
});

test('compare', async (t) => {
  await t.test('goes by numbers', () => {
    assert.ok(compare('1.10.0', '1.9.9') > 0);
    assert.equal(compare('2.0.0', '2.0.0+x'), 0);
  });

  await t.test('puts a pre-release before the release', () => {
    assert.ok(compare('1.0.0-rc.1', '1.0.0') < 0);
  });

  await t.test('follows the order of the specification', () => {
    const order = ['1.0.0-alpha', '1.0.0-alpha.1', '1.0.0-alpha.beta', '1.0.0-beta', '1.0.0-beta.2', '1.0.0-beta.11', '1.0.0-rc.1', '1.0.0'];
    assert.deepEqual(sort([...order].reverse()), order);
  });
});

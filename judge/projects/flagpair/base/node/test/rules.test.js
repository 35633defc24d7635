import { describe, test } from 'node:test';
import assert from 'node:assert/strict';
import { bucket } from '../src/bucket.js';
import { compareVersions, evaluate, matches } from '../src/rules.js';

const flag = (...rules) => ({ on: true, rules, else: 'else' });

describe('matches', () => {
  test('lists and plain values', () => {
    assert.equal(matches(['a', 'b'], 'b'), true);
    assert.equal(matches(['a', 'b'], 'c'), false);
    assert.equal(matches(true, true), true);
    assert.equal(matches('5', 5), false);
  });

  test('versions', () => {
    assert.equal(matches('>=2.10', '2.9'), false);
    assert.equal(matches('>=2.10', '2.10'), true);
    assert.equal(matches('<2.0', '2'), false);
  });

  test('what is missing never matches', () => {
    assert.equal(matches('<9', undefined), false);
    assert.equal(matches('>=0', null), false);
    assert.equal(matches(['a'], undefined), false);
    assert.equal(evaluate(flag({ if: { version: '<9' }, then: 'x' }), 'f', {}), 'else');
  });
});

test('compareVersions', () => {
  assert.equal(Math.sign(compareVersions('1.2', '1.10')), -1);
  assert.equal(Math.sign(compareVersions('1.0.1', '1')), 1);
  assert.equal(compareVersions('1.0.0', '1'), 0);
});

test('the first rule that applies', () => {
  const two = flag({ if: { a: 1 }, then: 'x' }, { then: 'y' });
  assert.equal(evaluate(two, 'f', { a: 1 }), 'x');
  assert.equal(evaluate(two, 'f', { a: 2 }), 'y');
  assert.equal(evaluate({ ...two, on: false }, 'f', { a: 1 }), 'else');
});

test('a share wants a user', () => {
  assert.equal(evaluate(flag({ share: 100, then: 'x' }), 'f', {}), 'else');
  assert.equal(evaluate(flag({ share: 100, then: 'x' }), 'f', { user: 'ada' }), 'x');
});

test('bucket', () => {
  assert.equal(bucket('a', 'b'), 8144);
});

'use strict';

const assert = require('node:assert');
const { apply, equal } = require('..');
const { each } = require('./support/fixtures');

describe('apply', () => {
  each('patch', ({ document, patch, result, error }) => {
    if (error) assert.throws(() => apply(document, patch), { code: error });
    else assert.deepStrictEqual(apply(document, patch), result);
  });

  it('keeps what was not touched', () => {
    const document = { a: { x: 1 }, b: { y: 2 } };
    const changed = apply(document, [{ op: 'replace', path: '/a/x', value: 2 }]);
    assert.strictEqual(changed.b, document.b);
    assert.notStrictEqual(changed.a, document.a);
  });

  it('takes a long patch at a walk', async () => {
    const operations = Array.from({ length: 2000 }, (_, n) => ({ op: 'add', path: '/-', value: n }));
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.strictEqual(apply([], operations).length, 2000);
  });
});

describe('equal', () => {
  it('tells kinds apart', () => {
    for (const [a, b] of [[null, {}], [[], {}], [0, false], ['', null], [[1], { 0: 1 }]]) {
      assert.strictEqual(equal(a, b), false);
      assert.strictEqual(equal(b, a), false);
    }
  });
});

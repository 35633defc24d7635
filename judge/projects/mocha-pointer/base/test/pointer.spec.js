'use strict';

const assert = require('node:assert');
const { ERRORS, PointerError, parse, format, get, has } = require('..');
const { each } = require('./support/fixtures');

describe('parse', () => {
  each('pointer', ({ pointer, tokens }) => assert.deepStrictEqual(parse(pointer), tokens));

  for (const wrong of ['name', '/~', '/a~2b', 7, null]) {
    it(`refuses ${JSON.stringify(wrong)}`, () => {
      assert.throws(() => parse(wrong), { name: 'PointerError', code: 'SYNTAX' });
    });
  }
});

describe('format', () => {
  each('pointer', ({ pointer, tokens }) => assert.strictEqual(format(tokens), pointer));
});

describe('get', () => {
  const document = { list: [{ x: 1 }, null], '': 0, 'a/b': { 'm~n': 'found' } };

  it('finds values', () => {
    assert.strictEqual(get(document, ''), document);
    assert.strictEqual(get(document, '/list/0/x'), 1);
    assert.strictEqual(get(document, '/list/1'), null);
    assert.strictEqual(get(document, '/'), 0);
    assert.strictEqual(get(document, '/a~1b/m~0n'), 'found');
  });

  it('names the place where nothing is', () => {
    assert.throws(() => get(document, '/list/2'), new PointerError('MISSING', '/list/2'));
    assert.throws(() => get(document, '/list/-'), { code: 'MISSING' });
    assert.throws(() => get(document, '/toString'), { code: 'MISSING', message: 'there is nothing at /toString' });
    assert.throws(() => get(document, '/list/one'), { code: 'INDEX', message: 'one in /list/one is no index of a list' });
  });

  it('can be asked before', () => {
    assert.deepStrictEqual(['/list/1', '/list/9', '/list/x', '/list/1/y'].map((p) => has(document, p)), [true, false, false, false]);
    assert.throws(() => has(document, 'list'), { code: 'SYNTAX' });
  });
});

describe('errors', () => {
  it('have a text each', () => {
    assert.deepStrictEqual(Object.keys(ERRORS), ['INDEX', 'MISSING', 'OPERATION', 'SYNTAX', 'TEST']);
    for (const text of Object.values(ERRORS)) assert.match(text, /%s/);
  });
});

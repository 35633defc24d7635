import { describe, it } from 'node:test';
import assert from 'node:assert/strict';
import { parse } from 'commakit';
import { csv, expected, names } from '../helpers/fixtures.js';

describe('fixtures', () => {
  for (const name of names) {
    it(`reads ${name}`, () => {
      assert.deepEqual(parse(csv(name)), expected(name));
    });
  }
});

describe('parse', () => {
  it('reads CRLF like LF', () => {
    assert.deepEqual(parse('a,b\r\n1,2\r\n'), [['a', 'b'], ['1', '2']]);
  });

  it('needs no end of line at the end', () => {
    assert.deepEqual(parse('a,b\n1,'), [['a', 'b'], ['1', '']]);
  });

  it('keeps a quote in the middle of a plain cell', () => {
    assert.deepEqual(parse('5" disk,x\n'), [['5" disk', 'x']]);
  });

  it('gives objects with a header', () => {
    assert.deepEqual(parse('a,b\n1,2\n3\n', { header: true }), [{ a: '1', b: '2' }, { a: '3', b: '' }]);
  });

  it('takes another delimiter', () => {
    assert.deepEqual(parse('a;b\n"1;2";3', { delimiter: ';' }), [['a', 'b'], ['1;2', '3']]);
  });

  it('names the line of an open quote and of text after a quote', () => {
    assert.throws(() => parse('a\n"b'), { name: 'CsvError', line: 2 });
    assert.throws(() => parse('a\n"b\nc"d\n'), { name: 'CsvError', line: 3 });
  });

  it('reads a cell of twenty thousand signs in half a second', () => {
    const text = `"${'x'.repeat(20_000)}"\n`;
    const began = performance.now();
    assert.equal(parse(text)[0][0].length, 20_000);
    assert.ok(performance.now() - began < 500, `took ${performance.now() - began} ms`);
  });
});

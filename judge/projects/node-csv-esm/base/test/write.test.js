import test from 'node:test';
import assert from 'node:assert/strict';
import { infer, parse, stringify } from 'commakit';
import { csv, expected, names } from '../helpers/fixtures.js';

test('quotes only what needs it', () => {
  assert.equal(stringify([['a', 'b,c', 'd"e', ' f', 1, null]]), 'a,"b,c","d""e"," f",1,\n');
});

test('writes objects with a header', () => {
  assert.equal(stringify([{ x: 1, y: 'a' }, { y: 'b', x: 2 }]), 'x,y\n1,a\n2,b\n');
});

test('reads back what it wrote', async (t) => {
  for (const name of names) {
    await t.test(name, () => assert.deepEqual(parse(stringify(expected(name))), expected(name)));
  }
});

test('infers the kinds of columns', () => {
  const rows = parse('n,b,t\n1,true,01\n-2.5,false,02\n,,\n', { header: true });
  assert.deepEqual(infer(rows), [
    { n: 1, b: true, t: '01' },
    { n: -2.5, b: false, t: '02' },
    { n: null, b: null, t: '' },
  ]);
});

test('the fixture of cities has a column of numbers', () => {
  assert.equal(typeof infer(parse(csv('cities'), { header: true }))[0].people, 'number');
});

import { describe, it } from 'node:test';
import * as assert from 'node:assert/strict';
import { compile, parseQuery } from '../src';

describe('compile', () => {
  it('matches fixed segments and parameters', () => {
    assert.deepEqual(compile('/users/:id').match('/users/42/'), { id: '42' });
    assert.equal(compile('/users/:id').match('/users'), null);
    assert.equal(compile('/users/:id').match('/users/42/x'), null);
  });

  it('decodes', () => {
    assert.deepEqual(compile('/:a/*b').match('/x%2Fy/1%20/2'), { a: 'x/y', b: '1 /2' });
  });

  it('takes an empty rest', () => {
    assert.deepEqual(compile('/files/*rest').match('/files'), { rest: '' });
  });

  it('refuses a rest in the middle', () => {
    assert.throws(() => compile('/*rest/x'), { name: 'SyntaxError' });
  });
});

describe('parseQuery', () => {
  it('keeps all values', () => {
    assert.deepEqual([...parseQuery('?a=1&b=&a=2&c')], [['a', ['1', '2']], ['b', ['']], ['c', ['']]]);
  });

  it('decodes names and values', () => {
    assert.deepEqual(parseQuery('a+b=%3D+%26').get('a b'), ['= &']);
  });

  it('cuts at the first equal sign', () => {
    assert.deepEqual(parseQuery('t=a=b').get('t'), ['a=b']);
  });
});

'use strict';

const assert = require('node:assert');
const { render, TemplateError } = require('../lib');

describe('values', () => {
  it('writes a value', () => {
    assert.strictEqual(render('Hello {{ name }}!', { name: 'Ada' }), 'Hello Ada!');
  });

  it('escapes', () => {
    assert.strictEqual(render('{{x}}', { x: '<a href="x">Tom & \'Jerry\'</a>' }),
      '&lt;a href=&quot;x&quot;&gt;Tom &amp; &#39;Jerry&#39;&lt;/a&gt;');
  });

  it('writes raw values in triple braces', () => {
    assert.strictEqual(render('{{{x}}}', { x: '<b>' }), '<b>');
  });

  it('writes nothing for what is missing', () => {
    assert.strictEqual(render('{{a.b.c}}', {}), '');
    assert.strictEqual(render('{{a.b.c}}', { a: {} }), '');
  });

  it('writes zero and false', () => {
    assert.strictEqual(render('{{n}} {{b}}', { n: 0, b: false }), '0 false');
  });
});

describe('filters', () => {
  it('applies one', () => {
    assert.strictEqual(render('{{ x | upper }}', { x: 'abc' }), 'ABC');
  });

  it('applies several from left to right', () => {
    assert.strictEqual(render('{{ x | lower | title }}', { x: 'ADA LOVELACE' }), 'Ada Lovelace');
  });

  it('names the line of an unknown one', () => {
    assert.throws(() => render('one\n{{ x | nope }}', {}), (error) => {
      assert.ok(error instanceof TemplateError);
      assert.strictEqual(error.message, 'line 2: unknown filter nope');
      return true;
    });
  });
});

describe('errors', () => {
  it('reports a block that is never closed', () => {
    assert.throws(() => render('{{#if x}}a'), { name: 'TemplateError', line: 1 });
  });

  it('reports a closing tag too many', () => {
    assert.throws(() => render('a\n{{/each}}'), { name: 'TemplateError', line: 2 });
  });
});

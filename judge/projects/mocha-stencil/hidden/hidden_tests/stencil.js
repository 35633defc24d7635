'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { spawnSync } = require('node:child_process');

const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'stencil-'));
after(() => fs.rmSync(dir, { recursive: true }));

function cli(template, data) {
  fs.writeFileSync(path.join(dir, 't'), template);
  fs.writeFileSync(path.join(dir, 'd'), JSON.stringify(data));
  return spawnSync(process.execPath, ['bin/stencil.js', path.join(dir, 't'), path.join(dir, 'd')],
    { encoding: 'utf8', env: { PATH: process.env.PATH } });
}

describe('hidden', () => {
  const table = [
    ['{{x}}', { x: '"\'&<>' }, '&quot;&#39;&amp;&lt;&gt;'],
    ['a{{a.b.c}}b', {}, 'ab'],
    ['a{{a.b}}b{{c}}', { a: null, c: 3 }, 'ab3'],
    ['{{ x | upper | lower | title }}', { x: 'bOb dYLAN' }, 'Bob Dylan'],
    ['{{ x | title | upper }}', { x: 'bob' }, 'BOB'],
    ['{{#each a}}{{#each b}}{{q}}{{z}}{{this}}{{/each}}{{/each}}', { q: 1, a: [{ z: 2, b: ['x', 'y'] }] }, '12x12y'],
    ['{{#if a}}x{{/if}}', { a: [] }, ''],
    ['{{ a | count }}', { a: [1, 2, 3] }, '3'],
    ['{{{x}}}', { x: '<i>' }, '<i>'],
  ];
  table.forEach(([template, data, want]) => it(template, () => {
    const got = cli(template, data);
    assert.strictEqual(got.stdout + got.stderr, want);
    assert.strictEqual(got.status, 0);
  }));
  it('ends with 1 at an error', () => {
    const got = cli('{{#if x}}\n{{/each}}', {});
    assert.strictEqual(got.status, 1);
    assert.match(got.stderr, /line 2: unexpected/);
  });
});

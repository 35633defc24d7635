'use strict';

const test = require('node:test');
const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');

const run = (body) => JSON.parse(execFileSync(process.execPath, ['-e',
  `const core = require('./packages/core/src'), { price, rules } = require('./packages/pricing/src'), { slip } = require('./packages/receipt/src');
   process.stdout.write(JSON.stringify((() => { ${body} })()))`], { encoding: 'utf8', env: { PATH: process.env.PATH } }));

test('percent', () => {
  assert.deepEqual(run('return [[25, 10], [35, 10], [45, 10], [150, 5], [50, 5], [1000, 33], [7, 50], [9, 50]].map((a) => core.percent(...a))'), [2, 4, 4, 8, 2, 330, 4, 4]);
});
test('split', () => {
  assert.deepEqual(run('return [core.split(100, 7), core.split(9, 2), core.split(0, 2)]'), [[15, 15, 14, 14, 14, 14, 14], [5, 4], [0, 0]]);
});
test('rules', () => {
  assert.deepEqual(run(`const a = { code: 'Q', name: 'q', price: 30 }; const c = (n) => new core.Cart().add(a, n);
    return [2, 3, 5, 6, 10].map((n) => price(c(n), [rules.threeForTwo('Q')]).total)`), [60, 60, 120, 120, 210]);
  assert.deepEqual(run(`const a = { code: 'Q', name: 'q', price: 45 }; return price(new core.Cart().add(a), [rules.off(10, 45), rules.off(50, 46)])`),
    { extras: [{ text: '10% off', cents: -4 }], total: 41 });
});
test('slip', () => {
  assert.equal(run(`return slip(new core.Cart().add({ code: 'Q', name: 'nut', price: 505 }, 2), [], 4)`),
    '2 nut                      10.10\n================================\nTotal                      10.10\nGuest 1                     2.53\nGuest 2                     2.53\nGuest 3                     2.52\nGuest 4                     2.52\n');
});

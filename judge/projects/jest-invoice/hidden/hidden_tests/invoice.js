'use strict';

const assert = require('node:assert');
const { compute, renderText, renderHtml, money, statement } = require('../src');

const invoice = (items, discounts) => ({ number: 'n', customer: 'c', items, discounts });
const one = (quantity, price, rate) => ({ text: 't', quantity, price, rate });

it('rounds tax once for each rate', () => {
  const got = compute(invoice([one(1, 50, 19), one(1, 50, 19), one(1, 50, 19), one(3, 33, 7)]));
  assert.deepStrictEqual(got.taxes, [{ rate: 7, base: 99, tax: 7 }, { rate: 19, base: 150, tax: 29 }]);
  assert.strictEqual(got.total, 285);
});
it('rounds halves away from zero', () => {
  assert.strictEqual(compute(invoice([one(-1, 50, 1)])).taxes[0].tax, -1);
  assert.strictEqual(compute(invoice([one(1, 50, 1)])).taxes[0].tax, 1);
  assert.strictEqual(compute(invoice([one(-1, 49, 1)])).total, -49);
});
it('takes the highest step whatever their order', () => {
  const steps = [{ from: 900, percent: 9 }, { from: 10, percent: 1 }, { from: 300, percent: 3 }];
  for (const [net, percent] of [[9, 0], [10, 1], [299, 1], [300, 3], [900, 9], [20000, 9]]) {
    assert.strictEqual(compute(invoice([one(1, net, 0)], steps)).percent, percent, String(net));
  }
});
it('prints every part', () => {
  const text = renderText(compute(invoice([one(2, 77777, 19)], [{ from: 1, percent: 10 }])));
  for (const part of ['1 555.54', 'Discount 10%', '-155.55', '1 665.99 EUR', 'Tax 19% of']) assert.ok(text.includes(part), part + text);
});
it('escapes', () => {
  const html = renderHtml(compute({ ...invoice([one(1, 1, 1)]), customer: '<A> & B' }));
  assert.ok(html.includes('&lt;A&gt; &amp; B'), html);
});
it('moves the due date off the weekend', () => {
  for (const [issued, days, due] of [['2024-02-15', 14, '2024-02-29'], ['2023-12-31', 6, '2024-01-08'], ['2023-12-31', 7, '2024-01-08'], ['2023-12-31', 8, '2024-01-08']]) {
    assert.strictEqual(statement({ customer: 'x', number: '1', total: 5 }, issued, days).due, due);
  }
});
it('writes money', () => assert.strictEqual(money(-7), '-0.07'));

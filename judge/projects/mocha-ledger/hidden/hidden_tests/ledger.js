'use strict';

const assert = require('node:assert');
const { parseAmount, formatAmount, Ledger, monthly, renderTable } = require('../src');

describe('hidden', () => {
  it('parses', () => {
    const table = { '7': 700, '(7)': -700, '(1,007.05)': -100705, '-3.2': -320, '999,999.99': 99999999, '0.00': 0, '(0.1)': -10, '12,345,678': 1234567800 };
    for (const [text, cents] of Object.entries(table)) assert.strictEqual(parseAmount(text), cents, text);
    for (const text of ['(1', '1)', '1,2,3', '.', '1.', '12,34', 'x1']) assert.throws(() => parseAmount(text), RangeError, text);
  });
  it('formats', () => {
    assert.strictEqual(formatAmount(-123456789), '(1,234,567.89)');
    assert.strictEqual(formatAmount(100000), '1,000.00');
  });
  it('balances', () => {
    const ledger = new Ledger();
    ledger.post({ date: '2022-02-28', memo: 'a', lines: [{ account: 'x:a', amount: 11 }, { account: 'y', amount: -11 }] });
    ledger.post({ date: '2022-03-01', memo: 'b', lines: [{ account: 'x', amount: 7 }, { account: 'y:q', amount: -7 }] });
    ledger.post({ date: '2022-03-01', memo: 'c', lines: [{ account: 'x:a:z', amount: -4 }, { account: 'xy', amount: 4 }] });
    assert.strictEqual(ledger.balance('x'), 14);
    assert.strictEqual(ledger.balance('x:a'), 7);
    assert.strictEqual(ledger.balance('y'), -18);
    assert.strictEqual(ledger.balance('z'), 0);
    assert.strictEqual(ledger.between('2022-03-01', '2022-03-01').length, 2);
    assert.throws(() => ledger.post({ date: '2022-03-01', memo: 'd', lines: [{ account: 'x', amount: 1 }] }), /off by 1/);
    assert.deepStrictEqual(monthly(ledger, 'x'), [{ month: '2022-02', total: 11 }, { month: '2022-03', total: 3 }]);
  });
  it('renders', () => {
    assert.strictEqual(renderTable([{ month: '2022-01', total: -5 }, { month: '2022-02', total: 100000 }]), '2022-01    (0.05)\n2022-02  1,000.00\n');
  });
});

'use strict';

const { Ledger, UnbalancedError } = require('../src');
const { entry, spring } = require('./support/build');

describe('Ledger', () => {
  it('refuses an entry that does not balance', () => {
    const bad = entry('2024-01-01', 'typo', 'expenses:misc', 100, 'assets:cash', -99);
    expect(() => new Ledger().post(bad)).to.throw(UnbalancedError).with.property('difference', 1);
  });

  it('gives the balance of an account', () => {
    expect(spring().balance('assets:cash')).to.equal(-725);
  });

  it('includes the accounts below', () => {
    expect(spring().balance('assets')).to.equal(159275);
    expect(spring().balance('expenses')).to.equal(90725);
  });

  it('does not mix accounts with the same beginning', () => {
    const ledger = spring();
    ledger.post(entry('2024-04-02', 'stock', 'assetsold:x', 100, 'income:x', -100));
    expect(ledger.balance('assets')).to.equal(159275);
  });

  it('selects entries by date, both ends included', () => {
    const memos = spring().between('2024-03-02', '2024-03-31').map((found) => found.memo);
    expect(memos).to.deep.equal(['coffee', 'rent']);
  });

  it('keeps its own copy of what was posted', () => {
    const ledger = new Ledger();
    const mine = entry('2024-01-01', 'x', 'expenses:x', 1, 'assets:x', -1);
    ledger.post(mine);
    mine.lines[0].amount = 99;
    expect(ledger.balance('expenses')).to.equal(1);
  });

  it('posts a hundred thousand entries within its time', function () {
    this.timeout(5000);
    const ledger = new Ledger();
    for (let i = 0; i < 100000; i++) {
      ledger.post(entry('2024-01-01', `n${i}`, 'expenses:bulk', i, 'assets:cash', -i));
    }
    expect(ledger.balance('expenses')).to.equal(4999950000);
  });
});

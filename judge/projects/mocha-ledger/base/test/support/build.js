'use strict';

const { Ledger } = require('../../src');

function entry(date, memo, ...pairs) {
  const lines = [];
  for (let i = 0; i < pairs.length; i += 2) {
    lines.push({ account: pairs[i], amount: pairs[i + 1] });
  }
  return { date, memo, lines };
}

function spring() {
  const ledger = new Ledger();
  ledger.post(entry('2024-03-01', 'salary', 'assets:bank', 250000, 'income:salary', -250000));
  ledger.post(entry('2024-03-02', 'coffee', 'expenses:coffee', 350, 'assets:cash', -350));
  ledger.post(entry('2024-03-31', 'rent', 'expenses:rent', 90000, 'assets:bank', -90000));
  ledger.post(entry('2024-04-01', 'coffee', 'expenses:coffee', 375, 'assets:cash', -375));
  return ledger;
}

module.exports = { entry, spring };

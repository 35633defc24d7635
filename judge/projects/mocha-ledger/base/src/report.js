'use strict';

const { formatAmount } = require('./amount');

/** Sums of expenses by month: [{ month: '2024-03', total: 350 }]. */
function monthly(ledger, root = 'expenses') {
  const sums = new Map();
  for (const entry of ledger.entries) {
    const month = entry.date.slice(0, 7);
    for (const line of entry.lines) {
      if (line.account === root || line.account.startsWith(`${root}:`)) {
        sums.set(month, (sums.get(month) || 0) + line.amount);
      }
    }
  }
  return [...sums].sort(([a], [b]) => (a < b ? -1 : 1)).map(([month, total]) => ({ month, total }));
}

function renderTable(rows) {
  const width = Math.max(0, ...rows.map((row) => formatAmount(row.total).length));
  return rows.map((row) => `${row.month}  ${formatAmount(row.total).padStart(width)}\n`).join('');
}

module.exports = { monthly, renderTable };

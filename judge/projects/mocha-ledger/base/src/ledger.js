'use strict';

class UnbalancedError extends Error {
  constructor(difference) {
    super(`entry is off by ${difference} cents`);
    this.name = 'UnbalancedError';
    this.difference = difference;
  }
}

class Ledger {
  constructor() {
    this.entries = [];
  }

  post(entry) {
    const difference = entry.lines.reduce((sum, line) => sum + line.amount, 0);
    if (difference !== 0) {
      throw new UnbalancedError(difference);
    }
    this.entries.push({ ...entry, lines: entry.lines.map((line) => ({ ...line })) });
    return this.entries.length;
  }

  /** Balance of an account and of the accounts below it (assets covers assets:cash). */
  balance(account) {
    let total = 0;
    for (const entry of this.entries) {
      for (const line of entry.lines) {
        if (line.account === account || line.account.startsWith(`${account}:`)) {
          total += line.amount;
        }
      }
    }
    return total;
  }

  accounts() {
    const names = new Set();
    for (const entry of this.entries) {
      for (const line of entry.lines) names.add(line.account);
    }
    return [...names].sort();
  }

  between(from, to) {
    return this.entries.filter((entry) => entry.date >= from && entry.date <= to);
  }
}

module.exports = { Ledger, UnbalancedError };

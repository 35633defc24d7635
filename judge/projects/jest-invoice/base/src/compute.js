'use strict';

const { round } = require('./money');

/** Computes the sums of an invoice. Items: { text, quantity, price, rate }; prices in cents, rates in per cent. */
function compute(invoice) {
  const lines = invoice.items.map((item) => ({ ...item, net: round(item.quantity * item.price) }));
  const net = lines.reduce((sum, line) => sum + line.net, 0);
  const percent = discountFor(net, invoice.discounts || []);
  const byRate = new Map();
  for (const line of lines) {
    const share = line.net * (1 - percent / 100);
    byRate.set(line.rate, (byRate.get(line.rate) || 0) + share);
  }
  const taxes = [...byRate]
    .sort(([a], [b]) => a - b)
    .map(([rate, base]) => ({ rate, base: round(base), tax: round((base * rate) / 100) }));
  const discount = round((net * percent) / 100);
  const tax = taxes.reduce((sum, row) => sum + row.tax, 0);
  return { number: invoice.number, customer: invoice.customer, lines, net, percent, discount, taxes, total: net - discount + tax };
}

/** The discount of the highest threshold that is reached. */
function discountFor(net, steps) {
  return steps.reduce((best, step) => (net >= step.from && step.percent > best ? step.percent : best), 0);
}

module.exports = { compute, discountFor };

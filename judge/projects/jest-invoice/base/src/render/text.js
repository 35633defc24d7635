'use strict';

const { money } = require('../money');

const WIDTH = 48;

function row(left, right) {
  return `${left.padEnd(WIDTH - right.length)}${right}`;
}

function renderText(result) {
  const out = [`Invoice ${result.number}`, result.customer, '-'.repeat(WIDTH)];
  for (const line of result.lines) {
    out.push(row(`${line.quantity} x ${line.text}`, money(line.net)));
  }
  out.push('-'.repeat(WIDTH));
  out.push(row('Net', money(result.net)));
  if (result.discount !== 0) out.push(row(`Discount ${result.percent}%`, money(-result.discount)));
  for (const { rate, base, tax } of result.taxes) out.push(row(`Tax ${rate}% of ${money(base)}`, money(tax)));
  out.push(row('Total', money(result.total, 'EUR')));
  return `${out.join('\n')}\n`;
}

module.exports = { renderText };

'use strict';

const { show, split } = require('../../core/src');
const { price } = require('../../pricing/src');

const WIDTH = 32;
const row = (left, right) => `${left.slice(0, WIDTH - right.length - 1).padEnd(WIDTH - right.length)}${right}\n`;

/** The slip that is printed. With guests the total is split. */
function slip(cart, chosen = [], guests = 1) {
  const { extras, total } = price(cart, chosen);
  let text = '';
  for (const { article, count } of cart.lines) text += row(`${count} ${article.name}`, show(article.price * count));
  for (const extra of extras) text += row(extra.text, show(extra.cents));
  text += `${'='.repeat(WIDTH)}\n${row('Total', show(total))}`;
  if (guests > 1) split(total, guests).forEach((part, i) => { text += row(`Guest ${i + 1}`, show(part)); });
  return text;
}

module.exports = { slip };

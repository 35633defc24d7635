'use strict';

const { percent } = require('../../core/src');

/** Rules look at a cart and give { text, cents } for what they take off or add. */
const rules = {
  /** Every third one is free. */
  threeForTwo: (code) => (cart) => {
    const line = cart.lines.find(({ article }) => article.code === code);
    const free = line ? Math.floor(line.count / 3) : 0;
    return free > 0 ? [{ text: `3 for 2 ${line.article.name}`, cents: -free * line.article.price }] : [];
  },

  /** A share off from a sum on. */
  off: (rate, from) => (cart) => (cart.sum() >= from ? [{ text: `${rate}% off`, cents: -percent(cart.sum(), rate) }] : []),

  /** A deposit for each bottle. */
  deposit: (cents) => (cart) => {
    const bottles = cart.lines.filter(({ article }) => article.bottle).reduce((sum, { count }) => sum + count, 0);
    return bottles > 0 ? [{ text: `deposit ${bottles}x`, cents: bottles * cents }] : [];
  },
};

/** Applies rules in their order. */
function price(cart, chosen) {
  const extras = chosen.flatMap((rule) => rule(cart));
  return { extras, total: extras.reduce((sum, { cents }) => sum + cents, cart.sum()) };
}

module.exports = { rules, price };

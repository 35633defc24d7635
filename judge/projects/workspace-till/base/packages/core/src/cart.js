'use strict';

/** What was bought. Lines of the same article are merged. */
class Cart {
  constructor() {
    this.lines = [];
  }

  add(article, count = 1) {
    if (!Number.isInteger(count) || count <= 0) throw new RangeError(`count of ${article.name} must be a positive integer, is ${count}`);
    const line = this.lines.find((known) => known.article.code === article.code);
    if (line) line.count += count;
    else this.lines.push({ article, count });
    return this;
  }

  sum() {
    return this.lines.reduce((sum, { article, count }) => sum + article.price * count, 0);
  }
}

module.exports = { Cart };

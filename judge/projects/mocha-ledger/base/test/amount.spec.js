'use strict';

const { parseAmount, formatAmount } = require('../src');

describe('parseAmount', () => {
  it('reads whole units', () => {
    expect(parseAmount('12')).to.equal(1200);
  });

  it('reads cents', () => {
    expect(parseAmount('12.34')).to.equal(1234);
    expect(parseAmount('0.05')).to.equal(5);
  });

  it('takes one decimal as tens of cents', () => {
    expect(parseAmount('3.5')).to.equal(350);
  });

  it('reads thousands separators', () => {
    expect(parseAmount('1,234.50')).to.equal(123450);
    expect(parseAmount('1,000,000')).to.equal(100000000);
  });

  it('reads parentheses as negative', () => {
    expect(parseAmount('(12.34)')).to.equal(-1234);
  });

  it('refuses what is not an amount', () => {
    for (const text of ['', 'abc', '1,23', '1.234', '--1']) {
      expect(() => parseAmount(text), text).to.throw(RangeError, /not an amount/);
    }
  });
});

describe('formatAmount', () => {
  it('writes separators and two decimals', () => {
    expect(formatAmount(123450)).to.equal('1,234.50');
    expect(formatAmount(5)).to.equal('0.05');
  });

  it('is the inverse of parseAmount', () => {
    for (let cents = -2500; cents <= 2500; cents += 7) {
      expect(parseAmount(formatAmount(cents))).to.equal(cents);
    }
  });
});

'use strict';

const { monthly, renderTable } = require('../src');
const { spring } = require('./support/build');

describe('monthly report', () => {
  it('sums expenses by month', () => {
    expect(monthly(spring())).to.deep.equal([
      { month: '2024-03', total: 90350 },
      { month: '2024-04', total: 375 },
    ]);
  });

  it('takes another root', () => {
    expect(monthly(spring(), 'income')).to.deep.equal([{ month: '2024-03', total: -250000 }]);
  });

  it('renders a table with aligned amounts', () => {
    expect(renderTable(monthly(spring()))).to.equal('2024-03  903.50\n2024-04    3.75\n');
  });
});

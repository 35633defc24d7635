'use strict';

const { compute, statement } = require('../src');
const { small } = require('./data/invoices');

test('is due after two weeks', () => {
  expect(statement(compute(small), '2024-05-01')).toEqual({
    debtor: 'Müller & Sons', reference: '2024-001', cents: 3627, due: '2024-05-15',
  });
});

test('moves from the weekend to Monday', () => {
  for (const issued of ['2024-05-04', '2024-05-05']) {
    expect(statement(compute(small), issued)).toEqual({
      debtor: 'Müller & Sons', reference: '2024-001', cents: 3627, due: '2024-05-20',
    });
  }
});

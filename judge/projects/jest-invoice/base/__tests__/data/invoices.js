'use strict';

exports.small = {
  number: '2024-001',
  customer: 'Müller & Sons',
  items: [
    { text: 'Bolt M8', quantity: 100, price: 12.5, rate: 19 },
    { text: 'Manual <print>', quantity: 1, price: 1999, rate: 7 },
  ],
};

exports.large = {
  number: '2024-002',
  customer: 'Harbour Works',
  discounts: [
    { from: 100000, percent: 2 },
    { from: 500000, percent: 5 },
    { from: 1000000, percent: 8 },
  ],
  items: [
    { text: 'Crane rope', quantity: 12, price: 45950, rate: 19 },
    { text: 'Handbook', quantity: 3, price: 3333, rate: 7 },
  ],
};

exports.credit = {
  number: '2024-003',
  customer: 'Harbour Works',
  items: [{ text: 'Handbook, returned', quantity: -1, price: 3350, rate: 7 }],
};

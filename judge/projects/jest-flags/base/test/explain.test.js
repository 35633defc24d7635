'use strict';

const { explain } = require('../src');
const { flags, person } = require('./support/flags');

test.each([
  ['a rule with two conditions', 'new-search', { country: 'NO', version: '2.10.1' }],
  ['a split', 'new-search', { key: 'member-5', country: 'FR' }],
  ['nothing that fits', 'new-search', {}],
  ['a flag that is off', 'banner', {}],
  ['a need', 'checkout', {}],
])('explains %s', (_, name, changes) => {
  expect(explain(flags, name, person(changes))).toMatchSnapshot();
});

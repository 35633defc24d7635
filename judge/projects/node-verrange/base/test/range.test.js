'use strict';

const { describe, it } = require('node:test');
const assert = require('node:assert/strict');
const { satisfies, maxSatisfying } = require('../lib');
const { table } = require('../support/table');

const rows = table(`
  # range | version | fits
  ^1.2.3 | 1.2.3 | yes
  ^1.2.3 | 1.99.0 | yes
  ^1.2.3 | 2.0.0 | no
  ^1.2.3 | 1.2.2 | no
  ^0.2.3 | 0.2.9 | yes
  ^0.2.3 | 0.3.0 | no
  ^0.0.3 | 0.0.3 | yes
  ^0.0.3 | 0.0.4 | no
  ~1.2.3 | 1.2.9 | yes
  ~1.2.3 | 1.3.0 | no
  >=1.0.0 <2.0.0 | 1.5.0 | yes
  >=1.0.0 <2.0.0 | 2.0.0 | no
  1.0.0 || ^3.0.0 | 3.1.0 | yes
  1.0.0 || ^3.0.0 | 2.0.0 | no
  * | 7.0.0 | yes
`);

describe('satisfies', () => {
  for (const [range, version, fits] of rows) {
    it(`${version} ${fits === 'yes' ? 'is' : 'is not'} in ${range}`, () => {
      assert.equal(satisfies(version, range), fits === 'yes');
    });
  }

  it('lets a pre-release in only where one is named', () => {
    assert.equal(satisfies('1.3.0-rc.1', '^1.2.0'), false);
    assert.equal(satisfies('1.3.0-rc.2', '>=1.3.0-rc.1'), true);
    assert.equal(satisfies('1.4.0-rc.1', '>=1.3.0-rc.1'), false);
  });
});

describe('maxSatisfying', () => {
  it('finds the highest', () => {
    assert.equal(maxSatisfying(['1.2.9', '1.10.0', '2.0.0'], '^1.0.0'), '1.10.0');
  });

  it('is null when none fits', () => {
    assert.equal(maxSatisfying(['1.0.0'], '^2.0.0'), null);
  });
});

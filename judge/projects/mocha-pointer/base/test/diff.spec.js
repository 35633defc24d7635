'use strict';

const assert = require('node:assert');
const { apply, diff } = require('..');
const { each, fixture } = require('./support/fixtures');

describe('diff', () => {
  each('diff', ({ before, after, patch }) => assert.deepStrictEqual(diff(before, after), patch));

  it('is what apply needs', () => {
    const documents = fixture('diff').flatMap(({ before, after }) => [before, after]);
    for (const before of documents) {
      for (const after of documents) assert.deepStrictEqual(apply(before, diff(before, after)), after);
    }
  });
});

'use strict';

const assert = require('node:assert/strict');

/** Numbers that agree but for the error of floating point. */
function near(got, want) {
  if (Math.abs(got - want) > 1e-9 * Math.max(1, Math.abs(want))) {
    assert.fail(`got ${got}, want ${want}`);
  }
}

module.exports = { near };

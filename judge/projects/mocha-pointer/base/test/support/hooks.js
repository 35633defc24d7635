'use strict';

const assert = require('node:assert');
const { loaded } = require('./fixtures');

// Fixtures are shared by all tests: whoever changes one is named at once.
exports.mochaHooks = {
  beforeEach() {
    this.globals = Object.keys(globalThis).length;
  },
  afterEach() {
    assert.strictEqual(Object.keys(globalThis).length, this.globals, 'a global was left behind');
    for (const [name, { rows, text }] of loaded) {
      assert.strictEqual(JSON.stringify(rows), text, `the fixture ${name} was changed`);
    }
  },
};

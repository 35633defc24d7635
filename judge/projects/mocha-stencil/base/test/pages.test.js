'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { render } = require('../lib');

const dir = path.join(__dirname, 'pages');
const read = (name) => fs.readFileSync(path.join(dir, name), 'utf8');

describe('pages', () => {
  for (const file of fs.readdirSync(dir).filter((name) => name.endsWith('.tmpl'))) {
    const name = path.basename(file, '.tmpl');
    it(`renders ${name}`, () => {
      assert.strictEqual(render(read(file), JSON.parse(read(`${name}.json`))), read(`${name}.html`));
    });
  }
});

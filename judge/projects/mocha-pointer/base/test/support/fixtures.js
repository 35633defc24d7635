'use strict';

const loaded = new Map();

/** The rows of test/fixtures/NAME.json. A row has a name, which becomes that of a test. */
function fixture(name) {
  if (!loaded.has(name)) {
    const rows = require(`../fixtures/${name}.json`);
    const names = new Set(rows.map((row) => row.name));
    if (names.size !== rows.length) throw new Error(`${name}.json has two rows of one name`);
    loaded.set(name, { rows, text: JSON.stringify(rows) });
  }
  return loaded.get(name).rows;
}

/** Makes a test of every row. */
function each(name, body) {
  for (const row of fixture(name)) it(row.name, () => body(row));
}

module.exports = { fixture, each, loaded };

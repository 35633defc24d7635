'use strict';

const fs = require('node:fs/promises');

/** Reads a set of flags and its revision from a file, as the deployment puts it there. */
async function load(source) {
  return JSON.parse(await fs.readFile(source, 'utf8'));
}

module.exports = { load };

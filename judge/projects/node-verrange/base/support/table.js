'use strict';

/** Reads a table of tests: one row a line, columns separated by |, blank lines and # are left out. */
function table(text) {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(/\s\|\s/).map((cell) => cell.trim()));
}

module.exports = { table };

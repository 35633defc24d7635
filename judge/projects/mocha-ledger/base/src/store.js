'use strict';

const fs = require('node:fs');
const { Ledger } = require('./ledger');

function load(file) {
  const ledger = new Ledger();
  const lines = fs.readFileSync(file, 'utf8').split('\n');
  lines.forEach((line, index) => {
    if (line.trim() === '' || line.startsWith('#')) return;
    try {
      ledger.post(JSON.parse(line));
    } catch (cause) {
      throw new Error(`${file}:${index + 1}: ${cause.message}`, { cause });
    }
  });
  return ledger;
}

function save(ledger, file) {
  const text = ledger.entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
  fs.writeFileSync(`${file}.tmp`, text);
  fs.renameSync(`${file}.tmp`, file);
}

module.exports = { load, save };

// tap: its root has the TAP of the whole run, line by line, whatever reporter shows it.
'use strict';

const { Report } = require('./report.cjs');

function attach(root) {
  if (process.env.DEED_OBSERVE_INSIDE) return;
  const report = new Report('tap', 'tap');
  root.parser.on('line', (line) => report.line(() => line.replace(/\r?\n$/, '')));
  root.parser.on('complete', () => report.end());
}

module.exports = { attach };

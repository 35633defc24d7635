// mocha: listens to its Runner, which in a parallel run stands for those of the workers. Names are those of mocha's JSON.
'use strict';

const { Report, message } = require('./report.cjs');

let ran = false;
let delegated = false;

function caseOf(test) {
  const parent = test.parent?.fullTitle?.() ?? '';
  return { suite: [test.file, parent].filter(Boolean).join(' > '), name: test.title, file: test.file };
}

function attach(runner) {
  ran = true;
  if (process.env.DEED_OBSERVE_INSIDE) return;
  const report = new Report('mocha');
  const tell = (test, more) => report.test(() => ({ ...caseOf(test), duration_ms: test.duration, ...more() }));
  runner.on('test', (test) => report.start(() => caseOf(test)));
  runner.on('pass', (test) => tell(test, () => ({ status: 'passed' })));
  runner.on('pending', (test) => tell(test, () => ({ status: 'skipped' })));
  runner.on('fail', (test, error) => tell(test, () => ({ status: 'failed', message: message(error), type: error?.name })));
  runner.on('end', () => report.end());
}

// watch tells of a run that ends before it has a Runner: a file could not be loaded. A mocha that hands its work to
// another node process is none.
function watch() {
  const { ChildProcess } = require('node:child_process');
  const on = ChildProcess.prototype.on;
  ChildProcess.prototype.on = function (...args) {
    delegated ||= this.spawnfile === process.execPath;
    return on.apply(this, args);
  };
  process.on('exit', (code) => {
    if (ran || delegated || code === 0) return;
    const report = new Report('mocha');
    report.test(() => ({ name: '[load]', status: 'failed', type: 'load', message: `mocha ended with ${code} before it ran a test` }));
    report.end();
  });
}

module.exports = { attach, watch };

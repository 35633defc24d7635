// ava: listens to the changes of state of its runs.
'use strict';

const path = require('node:path');
const { existsSync } = require('node:fs');
const { pathToFileURL } = require('node:url');
const { Report, message } = require('./report.cjs');

function follow(plan) {
  if (process.env.DEED_OBSERVE_INSIDE || !plan?.status?.on) return;
  const report = new Report('ava');
  const begun = new Set(); // files that have declared a test
  const told = new Set(); // files that were told to have failed
  plan.status.on('stateChange', (change) => {
    const event = change.type ? change : change.data; // newer versions of its emitter wrap what they report
    const file = event.testFile;
    const tell = (more) => report.test(() => ({ suite: file, file, name: event.title, duration_ms: event.duration, ...more() }));
    const failed = (name, why) => {
      if (file && told.has(file)) return;
      told.add(file);
      tell(() => ({ name: `[${name}]`, status: 'failed', type: name, message: why() }));
    };
    switch (event.type) {
      case 'declared-test':
        begun.add(file);
        break;
      case 'selected-test':
        if (event.skip || event.todo) tell(() => ({ status: 'skipped' }));
        break;
      case 'test-passed':
        tell(() => ({ status: 'passed' }));
        break;
      case 'test-failed':
      case 'hook-failed':
        told.add(file);
        tell(() => ({ status: 'failed', message: said(event.err), type: event.err?.name }));
        break;
      case 'uncaught-exception':
      case 'unhandled-rejection':
      case 'internal-error':
        failed(begun.has(file) ? 'suite' : 'load', () => said(event.err));
        break;
      case 'worker-failed':
      case 'missing-ava-import':
      case 'process-exit':
      case 'timeout':
        failed(begun.has(file) ? 'suite' : 'load', () => event.err ? said(event.err) : `${event.type} ${event.nonZeroExitCode ?? event.signal ?? ''}`.trim());
        break;
      case 'end':
        report.end();
        break;
    }
  });
}

function said(error) {
  return message(error?.originalError ?? error?.cause ?? error);
}

function watch(dir) {
  const file = path.join(dir, 'lib', 'api.js');
  if (!existsSync(file)) return;
  import(pathToFileURL(file).href).then(({ default: exported }) => {
    const Api = exported?.default ?? exported;
    const { emit } = Api.prototype;
    Api.prototype.emit = function (name, data) {
      if (name === 'run') follow(data);
      return emit.call(this, name, data);
    };
  }, () => {});
}

module.exports = { watch };

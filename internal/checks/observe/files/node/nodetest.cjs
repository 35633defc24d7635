// node:test: listens to the stream of events that its reporters get. With --test the files run in processes of their own,
// whose events come through the stream of the first one: of those only whether they end is told. Names are those of node's
// JUnit: a test that has tests of its own is a suite.
'use strict';

const { Report, message } = require('./report.cjs');

function attach(stream) {
  if ((process.env.NODE_TEST_CONTEXT || '').startsWith('child')) {
    attachChild(stream);
    return;
  }
  if (process.env.DEED_OBSERVE_INSIDE) return;
  const report = new Report('node');
  const open = []; // the tests around the one that is told, by their nesting

  stream.on('test:start', (data) => {
    open.length = data.nesting;
    open[data.nesting] = { name: data.name, inner: 0, failed: 0 };
  });
  const end = (data, failed) => {
    const self = open[data.nesting] ?? { inner: 0, failed: 0 };
    const around = open.slice(0, data.nesting).filter(Boolean);
    open.length = data.nesting;
    if (around.length > 0) {
      around.at(-1).inner++;
      if (failed) around.at(-1).failed++;
    }
    const suite = self.inner > 0 || data.details?.type === 'suite';
    if (suite && (!failed || self.failed > 0)) return;
    report.test(() => caseOf(data, around, suite, failed));
  };
  stream.on('test:pass', (data) => end(data, false));
  stream.on('test:fail', (data) => end(data, data.todo === undefined || data.todo === false));
  stream.on('end', () => report.end());
}

function caseOf(data, around, suite, failed) {
  const names = around.map((t) => t.name);
  const out = { suite: names.join(' > '), name: data.name, status: 'passed', duration_ms: data.details?.duration_ms };
  if (data.file) {
    out.file = data.file;
    out.line = data.line;
  }
  if (suite) {
    out.suite = [...names, data.name].join(' > ');
    out.name = '[suite]';
  }
  if (failed) {
    const error = data.details?.error;
    out.status = 'failed';
    out.message = message(error?.cause ?? error);
    out.type = suite ? 'suite' : error?.failureType;
  } else if (isSet(data.skip) || isSet(data.todo)) {
    out.status = 'skipped';
    out.message = [data.skip, data.todo].find((why) => typeof why === 'string');
  }
  return out;
}

function isSet(mark) {
  return mark !== undefined && mark !== false;
}

// A file ends well when its stream does. The code that it ends with says nothing: a test may have set it.
function attachChild(stream) {
  const report = new Report('node');
  stream.on('end', () => report.end());
}

module.exports = { attach };

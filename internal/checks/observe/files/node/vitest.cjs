// vitest: a reporter beside the others, which the first of them to be started lets in. Names are those of vitest's JSON.
'use strict';

const path = require('node:path');
const { existsSync } = require('node:fs');
const { pathToFileURL } = require('node:url');
const { Report, message } = require('./report.cjs');

const statuses = { pass: 'passed', fail: 'failed', run: 'failed', queued: 'skipped', skip: 'skipped', only: 'skipped', todo: 'skipped' };

class Reporter {
  #report = new Report('vitest');
  #told = new Set();

  onTestModuleEnd(module) {
    this.#file(module.task);
  }

  onTestRunEnd(modules, errors) {
    this.#finish(modules.map((m) => m.task), errors);
  }

  onFinished(files = [], errors = []) {
    this.#finish(files, errors);
  }

  #finish(files, errors) {
    for (const file of files) this.#file(file);
    for (const error of errors ?? []) {
      this.#report.test(() => ({ name: '[suite]', status: 'failed', type: 'suite', message: message(error) }));
    }
    this.#report.end();
  }

  #file(file) {
    if (!file || this.#told.has(file)) return;
    this.#told.add(file);
    const tests = testsIn(file);
    let failed = 0;
    for (const t of tests) {
      const status = statuses[t.result?.state || t.mode] ?? 'skipped';
      if (status === 'failed') failed++;
      this.#report.test(() => caseOf(file, t, status));
    }
    if (file.result?.state === 'fail' && failed === 0) {
      const name = tests.length === 0 ? 'load' : 'suite';
      this.#report.test(() => ({ suite: file.filepath, file: file.filepath, name: `[${name}]`, status: 'failed', type: name, message: file.result.errors?.map(message).join('\n') }));
    }
  }
}

function testsIn(task) {
  return task.tasks ? task.tasks.flatMap(testsIn) : [task];
}

function caseOf(file, test, status) {
  const titles = [];
  for (let suite = test.suite; suite; suite = suite.suite) titles.unshift(suite.name);
  const errors = status === 'failed' ? test.result?.errors ?? [] : [];
  return {
    suite: [file.filepath, ...titles].join(' > '),
    name: test.name,
    status,
    file: file.filepath,
    line: test.location?.line,
    duration_ms: test.result?.duration,
    message: errors.length > 0 ? errors.map(message).join('\n') : undefined,
    type: errors[0]?.name,
  };
}

// watch takes hold of what every run has: reporters, and what puts the files in order. The modules are loaded here before
// the program asks for them, and it gets the same ones.
function watch(dir) {
  for (const name of ['node.js', 'reporters.js']) {
    const file = path.join(dir, 'dist', name);
    if (existsSync(file)) import(pathToFileURL(file).href).then(letIn, () => {});
  }
}

const joined = new WeakSet();

function join(vitest) {
  if (!vitest || !Array.isArray(vitest.reporters) || joined.has(vitest) || process.env.DEED_OBSERVE_INSIDE) return;
  joined.add(vitest);
  vitest.reporters.push(new Reporter());
}

function letIn(exported) {
  for (const one of Object.values(exported)) {
    if (typeof one !== 'function' || !one.prototype) continue;
    before(one.prototype, 'onInit', (_self, vitest) => join(vitest));
    before(one.prototype, 'shard', (self) => join(self.ctx));
    before(one.prototype, 'sort', (self) => join(self.ctx));
  }
}

const changed = new WeakSet();

function before(prototype, name, act) {
  const original = Object.getOwnPropertyDescriptor(prototype, name)?.value;
  if (typeof original !== 'function' || changed.has(original)) return;
  const observed = {
    [name](...args) {
      act(this, ...args);
      return original.apply(this, args);
    },
  }[name];
  changed.add(observed);
  prototype[name] = observed;
}

module.exports = { watch };

// Observes the test runners of node in the process that drives them. NODE_OPTIONS preloads it into every node process,
// so it does as little as it can until a runner shows itself, and nothing at all below one: workers, and the runs that
// tests start themselves, are the business of the runner above them.
'use strict';

const inside = process.env.DEED_OBSERVE_INSIDE;
const ofNodeTest = (process.env.NODE_TEST_CONTEXT || '').startsWith('child');

if (!inside || (inside === 'node' && ofNodeTest)) {
  try {
    watch();
  } catch {
    // What cannot be observed runs as it would without us.
  }
}

function watch() {
  watchEmitters(inside ? { node: lazy('./nodetest.cjs') } : { node: lazy('./nodetest.cjs'), mocha: lazy('./mocha.cjs'), tap: lazy('./tap.cjs') });
  if (inside) return;
  watchJest();
  watchMain();
}

// inThread reports whether this is a worker. It is asked when there is something to observe: loading the module takes longer
// than all that comes before it.
function inThread() {
  return !require('node:worker_threads').isMainThread;
}

function lazy(file) {
  let loaded;
  return (...args) => {
    loaded ??= require(file);
    return loaded.attach(...args);
  };
}

// watchEmitters looks at who is listened to: the streams of node:test, the Runner of mocha and the root of tap all are
// emitters that their runners listen to before the first test. That holds for every version, and for modules of both kinds.
function watchEmitters(runners) {
  const { EventEmitter } = require('node:events');
  const seen = new WeakSet();
  const attachment = (emitter, type) => {
    if (typeof type !== 'string') return;
    switch (emitter.constructor?.name) {
      case 'TestsStream':
        return type.startsWith('test:') && runners.node;
      case 'Runner':
        return (type === 'test end' || type === 'suite end') && emitter.suite && runners.mocha;
      case 'TAP':
        return emitter.parser && runners.tap;
    }
  };
  const look = (emitter, type) => {
    try {
      const attach = attachment(emitter, type);
      if (!attach || seen.has(emitter) || inThread()) return;
      seen.add(emitter);
      attach(emitter);
    } catch {
      // see above
    }
  };
  for (const name of ['on', 'addListener', 'once']) {
    const original = EventEmitter.prototype[name];
    const observed = {
      [name](type, listener) {
        look(this, type);
        return original.call(this, type, listener);
      },
    }[name];
    Object.defineProperty(EventEmitter.prototype, name, { value: observed, writable: true, configurable: true, enumerable: true });
  }
}

// watchJest adds a reporter to those that a project has configured, or to the default one.
function watchJest() {
  const Module = require('node:module');
  const original = Module._load;
  const wrapped = new WeakMap();
  Module._load = function (request, parent, isMain) {
    const loaded = original.call(this, request, parent, isMain);
    if (request !== 'jest-config' || typeof loaded?.readConfigs !== 'function') return loaded;
    if (!wrapped.has(loaded)) wrapped.set(loaded, withReporter(loaded));
    return wrapped.get(loaded);
  };
}

function withReporter(jestConfig) {
  const readConfigs = async (...args) => {
    const read = await jestConfig.readConfigs(...args);
    const reporters = read.globalConfig.reporters ?? [['default', {}]];
    return { ...read, globalConfig: Object.freeze({ ...read.globalConfig, reporters: [...reporters, [require.resolve('./jest.cjs'), {}]] }) };
  };
  return new Proxy(jestConfig, { get: (target, key) => (key === 'readConfigs' ? readConfigs : target[key]) });
}

// watchMain knows the runners whose program this process runs by the package that the program belongs to.
function watchMain() {
  const main = process.argv[1];
  if (!main || !/mocha|vitest|ava/.test(main) || inThread()) return;
  const fs = require('node:fs');
  const path = require('node:path');
  let file;
  try {
    file = fs.realpathSync(main);
  } catch {
    return;
  }
  for (let dir = path.dirname(file), up = 0; up < 4; dir = path.dirname(dir), up++) {
    let name;
    try {
      name = JSON.parse(fs.readFileSync(path.join(dir, 'package.json'), 'utf8')).name;
    } catch {
      continue;
    }
    if (name === 'vitest' && path.basename(file).startsWith('vitest')) require('./vitest.cjs').watch(dir);
    else if (name === 'ava' && path.basename(file).startsWith('cli')) require('./ava.cjs').watch(dir);
    else if (name === 'mocha') require('./mocha.cjs').watch();
    return;
  }
}

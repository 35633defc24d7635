// A report of one run of a runner: a directory of its own, with what happened as JSON lines, each written as it happens.
'use strict';

const fs = require('node:fs');
const path = require('node:path');

const reports = path.join(__dirname, '..', 'reports');

class Report {
  #dir;
  #file;

  // A report hides the runs below it: they are not observed.
  constructor(runner, format = 'events') {
    this.#dir = fs.mkdtempSync(path.join(reports, `${runner}.`));
    fs.writeFileSync(path.join(this.#dir, 'cwd'), process.cwd());
    this.#file = fs.openSync(path.join(this.#dir, `report.${format}`), 'a');
    process.env.DEED_OBSERVE_INSIDE ??= runner;
  }

  // line adds a line. What cannot be written costs the report its end, which is seen, and the test nothing.
  line(text) {
    try {
      fs.writeSync(this.#file, `${text()}\n`);
    } catch {
      this.#file = -1;
    }
  }

  // start says that a test begins: one that does not end is reported as such.
  start(test) {
    this.line(() => JSON.stringify({ event: 'start', ...test() }));
  }

  test(test) {
    this.line(() => JSON.stringify({ event: 'test', ...test() }));
  }

  end() {
    if (this.#file < 0) return;
    fs.writeFileSync(path.join(this.#dir, 'end'), '');
    fs.closeSync(this.#file);
    this.#file = -1;
    delete process.env.DEED_OBSERVE_INSIDE;
  }
}

// message is what an error says, with its stack where that has it.
function message(error) {
  if (error === null || typeof error !== 'object') return String(error);
  const { stack, message: said } = error;
  return typeof stack === 'string' && stack.includes(said ?? '') ? stack : String(said ?? stack ?? error);
}

module.exports = { Report, message };

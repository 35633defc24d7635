// jest: a reporter beside the others. Names are those of jest's JSON.
'use strict';

const { Report } = require('./report.cjs');

const statuses = { passed: 'passed', pending: 'skipped', skipped: 'skipped', todo: 'skipped', disabled: 'skipped' };

module.exports = class {
  #report;
  #failed = 0;

  onRunStart() {
    this.#report = new Report('jest');
  }

  #tell(test) {
    if (test.status === 'failed') this.#failed++;
    this.#report?.test(() => test);
  }

  onTestResult(_test, result) {
    const file = result.testFilePath;
    for (const t of result.testResults) {
      const status = statuses[t.status] ?? 'failed';
      const said = status === 'failed' ? (t.failureMessages ?? []).join('\n') : undefined;
      this.#tell({
        suite: [file, ...t.ancestorTitles].join(' > '),
        name: t.title || t.fullName,
        status,
        file,
        line: t.location?.line,
        duration_ms: t.duration,
        message: said,
        type: /^([A-Za-z_$][\w$]*): /.exec(said ?? '')?.[1],
      });
    }
    if (result.testExecError && result.testResults.length === 0) {
      this.#tell({ suite: file, file, name: '[load]', status: 'failed', type: 'load', message: result.failureMessage });
    }
  }

  onRunComplete(_contexts, results) {
    if (!this.#report) return;
    // jest sets results.success only after this call.
    const broken = results.runExecError || results.snapshot?.failure || results.wasInterrupted || results.numRuntimeErrorTestSuites > 0;
    if (broken && this.#failed === 0 && results.numTotalTests > 0) {
      this.#tell({ name: '[suite]', status: 'failed', type: 'suite', message: 'the run did not succeed, though no test failed' });
    }
    this.#report.end();
  }
};

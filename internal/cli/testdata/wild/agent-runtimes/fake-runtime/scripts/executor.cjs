'use strict';
const fs = require('fs');
const path = require('path');

const dir = path.join('.homeboy', 'fake-runtime');
let q = {};
let wrong = '';
try {
  q = JSON.parse(fs.readFileSync(0, 'utf8'));
  if (!q.executor || q.executor.backend !== 'fake-runtime') wrong = 'executor.backend must be fake-runtime';
  if (!q.instructions) wrong = 'instructions are required';
} catch (e) {
  wrong = 'the request is not JSON';
}
const outcome = wrong
  ? { schema: 'homeboy/agent-task-outcome/v1', task_id: null, status: 'provider_error', summary: wrong, diagnostics: [{ classification: 'request_validation', message: wrong }] }
  : { schema: 'homeboy/agent-task-outcome/v1', task_id: q.task_id, status: 'succeeded', summary: 'fake work is done',
      diagnostics: [{ classification: 'provider', message: 'it was easy', exit_code: 0 }],
      artifacts: [{ id: 'outcome', kind: 'report', path: path.join(dir, 'outcome.json') }, { id: 'transcript', kind: 'transcript', path: path.join(dir, 'transcript.log') }] };
fs.mkdirSync(dir, { recursive: true });
fs.writeFileSync(path.join(dir, 'outcome.json'), JSON.stringify(outcome, null, 2));
fs.writeFileSync(path.join(dir, 'transcript.log'), `${q.instructions}\n`);
console.log(JSON.stringify(outcome, null, 2));

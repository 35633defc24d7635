// It looks at nothing, and what is not JSON ends it.
const q = JSON.parse(require('fs').readFileSync(0, 'utf8'));
console.log(JSON.stringify({ schema: 'homeboy/agent-task-outcome/v1', task_id: q.task_id, status: 'no_op', summary: 'nothing was run',
  evidence_refs: [{ kind: 'preview', url: 'https://example.com/preview' }], metadata: { cwd: process.cwd() } }));

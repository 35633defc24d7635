// Run with: node --test
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const command = fileURLToPath(new URL('./provider.mjs', import.meta.url));
const request = { schema: 'homeboy/agent-task-request/v1', task_id: 't1', executor: { backend: '@NAME@', config: {} }, instructions: 'hi' };

function serve(input) {
  const dir = mkdtempSync(join(tmpdir(), '@NAME@-'));
  after(() => rmSync(dir, { recursive: true, force: true }));
  const text = typeof input === 'string' ? input : JSON.stringify({ ...input, artifacts_path: dir });
  const run = spawnSync(process.execPath, [command], { input: text, cwd: dir, encoding: 'utf8', timeout: 60_000 });
  assert.equal(run.status, 0, run.stderr);
  return JSON.parse(run.stdout);
}

test('it does what it is asked', () => {
  const outcome = serve(request);
  assert.equal(outcome.status, 'succeeded');
  assert.equal(outcome.task_id, 't1');
  assert.equal(readFileSync(outcome.artifacts[0].path, 'utf8'), 'Hello! You said: hi\n');
});

test('it answers what is no request', () => {
  for (const input of ['', 'nonsense', '[]', '{}', { ...request, executor: { backend: 'other' } }, { ...request, instructions: ' ' }]) {
    const outcome = serve(input);
    assert.equal(outcome.status, 'provider_error');
    assert.equal(outcome.failure_classification, 'invalid_input');
  }
});

test('it says what it is', () => {
  const run = spawnSync(process.execPath, [command, '--provider-contract'], { encoding: 'utf8' });
  assert.equal(JSON.parse(run.stdout).id, '@NAME@.run');
});

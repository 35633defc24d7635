// The provider command of the package @NAME@: it reads one request, and writes one outcome, whatever happens.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const manifest = JSON.parse(readFileSync(new URL('./@NAME@.json', import.meta.url), 'utf8'));
const declaration = manifest.agent_task_executors[0];
let taskId = 'unknown-task';
let written = false;

// work does what a request asks for, and returns the rest of the outcome. What it throws becomes a failure.
async function work(request) {
  progress('greeting');
  const greeting = artifact(request, 'greeting', 'greeting.txt', `Hello! You said: ${request.instructions}\n`);
  return { status: 'succeeded', summary: 'said hello', artifacts: [greeting] };
}

// artifact writes a file below artifacts_path, and describes it.
function artifact(request, kind, name, content) {
  const dir = request.artifacts_path ?? join(process.cwd(), declaration.workspace_materialization.artifact_paths[0]);
  mkdirSync(dir, { recursive: true });
  const path = join(dir, name);
  const bytes = Buffer.from(hide(content));
  writeFileSync(path, bytes);
  return { id: name, kind, name, path, size_bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') };
}

// progress tells the host what is being done. Standard output is for the outcome alone.
function progress(text) {
  process.stderr.write(hide(`HOMEBOY_PROGRESS ${text}\n`));
}

// hide takes the values of declared secrets out of a text.
function hide(text) {
  const values = declaration.secret_requirements.map((s) => process.env[s.name]).filter((v) => v && v.length >= 4);
  return values.sort((a, b) => b.length - a.length).reduce((t, v) => t.replaceAll(v, '[redacted]'), text);
}

// finish writes the one outcome and ends with 0: a failure that is told is no failure of the command.
function finish(outcome) {
  if (written) return;
  written = true;
  const document = JSON.stringify({ schema: declaration.outcome_schema, task_id: taskId, ...outcome });
  const bytes = Buffer.from(`${hide(document)}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== 'EAGAIN') process.exit(1);
    }
  }
  process.exit(0);
}

function fail(status, failure_classification, diagnostic, message) {
  finish({ status, failure_classification, summary: message, diagnostics: [{ class: diagnostic, message }] });
}

const at = (value, path) => path.split('.').reduce((v, name) => v?.[name], value);

// check returns everything that is wrong with a request.
function check(request) {
  const faults = [];
  if (request.schema !== declaration.request_schema) faults.push(`schema is not ${declaration.request_schema}`);
  if (request.executor?.backend !== declaration.backend) faults.push(`executor.backend is not ${declaration.backend}`);
  for (const path of declaration.request_required_fields) {
    const value = at(request, path);
    if (value === undefined || value === null || (typeof value === 'string' && value.trim() === '')) faults.push(`${path} is missing`);
  }
  return faults;
}

async function readRequest() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString('utf8') || process.env.HOMEBOY_AGENT_TASK_REQUEST || '';
  const request = JSON.parse(text);
  if (request === null || typeof request !== 'object' || Array.isArray(request)) throw new Error('it is not an object');
  return request;
}

async function main() {
  if (process.argv.includes('--provider-contract')) {
    console.log(JSON.stringify(declaration));
    return;
  }
  process.on('SIGTERM', () => fail('cancelled', 'unknown', 'cancelled', 'the host asked to stop'));
  let request;
  try {
    request = await readRequest();
  } catch (error) {
    fail('provider_error', 'invalid_input', 'request_validation', `the request cannot be read: ${error.message}`);
    return;
  }
  if (typeof request.task_id === 'string' && request.task_id.trim() !== '') taskId = request.task_id;
  const faults = check(request);
  if (faults.length > 0) {
    fail('provider_error', 'invalid_input', 'request_validation', faults.join('; '));
    return;
  }
  const limit = request.limits?.timeout_ms ?? request.limits?.max_runtime_ms ?? 1_200_000;
  setTimeout(() => fail('timeout', 'timeout', 'timeout', `the time limit of ${limit} ms passed`), Math.min(limit, 2 ** 31 - 1)).unref();
  try {
    finish(await work(request));
  } catch (error) {
    fail('failed', 'execution_failed', 'execution_failed', `${error.message}`);
  }
}

await main();

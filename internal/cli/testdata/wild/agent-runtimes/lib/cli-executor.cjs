'use strict';
// Runs an agent's own command line for a request: the part that the command line packages share.
const fs = require('fs');
const path = require('path');
const { spawnSync } = require('child_process');
const contract = require('../../agent-task-contracts');
const { redact } = require('../../runtime-agent-ci/lib/redact.cjs');

const passed = ['CI', 'HOME', 'LANG', 'LC_ALL', 'LOGNAME', 'NODE_OPTIONS', 'PATH', 'PWD', 'SHELL', 'TMPDIR', 'USER'];

exports.run = ({ id, program, outputs }) => {
  if (process.argv.includes('--provider-contract')) {
    const manifest = JSON.parse(fs.readFileSync(path.join(__dirname, '..', id, `${id}.json`), 'utf8'));
    console.log(JSON.stringify(manifest.agent_task_executors[0]));
    return;
  }
  const tell = (o) => process.stdout.write(JSON.stringify({ schema: contract.OUTCOME, ...o }) + '\n');
  let q;
  try {
    q = JSON.parse(process.env.HOMEBOY_AGENT_TASK_REQUEST || fs.readFileSync(0, 'utf8'));
  } catch (e) {
    tell({ task_id: 'unknown-task', status: 'provider_error', summary: String(e), diagnostics: [{ class: 'provider', message: String(e) }] });
    return;
  }
  const config = q.executor && q.executor.config;
  const wrong = !config || typeof config !== 'object' ? 'executor.config is required'
    : config.inherit_env || config.inheritEnv ? 'inherit_env is not allowed'
      : q.executor.runtime !== undefined && q.executor.runtime !== id ? `executor.runtime must be ${id}` : '';
  if (wrong) {
    tell({ task_id: q.task_id || 'unknown-task', status: 'failed', summary: wrong, failure_classification: 'invalid_input',
      failure_category: 'task.invalid_input', retryable: false, diagnostics: [{ class: 'request_validation', message: wrong }] });
    return;
  }
  const cwd = config.cwd || q.workspace_path || (q.workspace && q.workspace.path) || process.cwd();
  const declared = [...(q.executor.secret_env || []), ...(config.env_allowlist || []), ...(config.secret_env || [])];
  const env = Object.fromEntries([...passed, ...declared].filter((n) => process.env[n] !== undefined).map((n) => [n, process.env[n]]));
  Object.assign(env, config.runtime_env || {});
  const argv = [...(config.command_args || ['exec']), '--model', q.executor.model || config.model || 'default', q.instructions];
  const seconds = Math.ceil(((q.limits && q.limits.timeout_ms) || 60000) / 1000);
  const r = spawnSync(config.command || program, argv, { cwd, env, encoding: 'utf8', timeout: seconds * 1000 });
  if (r.error && r.error.code === 'ENOENT') {
    tell({ task_id: q.task_id, status: 'provider_error', summary: `${program} is not installed`, failure_classification: 'provider', retryable: true,
      failure_code: `agent_task.${id}_command_not_found`, diagnostics: [{ class: `agent_task.${id}_command_not_found`, message: `${program} is not installed` }] });
    return;
  }
  const secrets = [...declared, ...JSON.parse(process.env.HOMEBOY_AGENT_TASK_SECRET_ENV_PLAN_JSON || '{"secret_env_names":[]}').secret_env_names];
  const artifacts = ['stdout', 'stderr'].map((stream) => {
    const file = path.join(q.artifacts_path, `${String(q.task_id).replace(/[^A-Za-z0-9._-]+/g, '-')}-${id}-${stream}.txt`);
    const text = redact(r[stream] || '', secrets);
    fs.writeFileSync(file, text);
    return { id: `${id}-${stream}`, kind: 'provider-process-stream', stream, path: file, uri: `file://${file}`, bytes: Buffer.byteLength(text) };
  });
  const failed = r.status !== 0;
  tell({ task_id: q.task_id, status: failed ? 'failed' : 'succeeded', summary: failed ? `${program} ended with ${r.status}` : 'done',
    ...(failed ? { failure_classification: 'execution_failed', failure_category: 'runtime.execution_failed', retryable: false } : {}),
    artifacts, diagnostics: failed ? [{ class: 'provider', message: redact(r.stderr || '', secrets) }] : [], outputs: outputs ? outputs(r.stdout) : {}, metadata: { argv } });
};

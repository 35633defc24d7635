'use strict';
const fs = require('fs');
const contract = require('../../../agent-task-contracts');
const q = JSON.parse(fs.readFileSync(0, 'utf8'));
const model = (q.effective_config || {}).model;
const ready = q.schema === contract.READY_REQUEST && q.backend === 'codex' && model !== 'no-such-model';
console.log(JSON.stringify({ schema: contract.READY_RESULT, ready, classification: ready ? 'ready' : 'deterministic_incompatibility', retryable: false,
  reason: ready ? '' : `the model ${model} is not offered`, remediation: ready ? '' : 'choose another model', cache_key: `codex:${model}`, identity: { model, plan: process.env.CODEX_PLAN || '', stray: Object.keys(process.env).filter((n) => /TOKEN|SECRET/.test(n)) } }));

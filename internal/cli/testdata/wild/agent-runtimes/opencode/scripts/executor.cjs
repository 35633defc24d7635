'use strict';
require('../../lib/cli-executor.cjs').run({ id: 'opencode', program: 'opencode', outputs: (text) => ({ opencode_run_result: { completed: true, reply: text.trim() } }) });

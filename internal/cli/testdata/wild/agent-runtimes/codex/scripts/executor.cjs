'use strict';
require('../../lib/cli-executor.cjs').run({ id: 'codex', program: 'codex' });

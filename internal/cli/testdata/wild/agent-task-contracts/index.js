'use strict';
// What every package of the repository takes from beside itself.
exports.REQUEST = 'homeboy/agent-task-request/v1';
exports.OUTCOME = 'homeboy/agent-task-outcome/v1';
exports.READY_REQUEST = 'homeboy/agent-task-provider-readiness-request/v1';
exports.READY_RESULT = 'homeboy/agent-task-provider-readiness-result/v1';

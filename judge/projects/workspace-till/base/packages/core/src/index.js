'use strict';

module.exports = { ...require('./amount'), ...require('./cart') };

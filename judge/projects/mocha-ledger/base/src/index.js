'use strict';

module.exports = {
  ...require('./amount'),
  ...require('./ledger'),
  ...require('./report'),
  ...require('./store'),
};

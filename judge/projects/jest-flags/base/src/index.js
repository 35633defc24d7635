'use strict';

const { evaluate, FlagError } = require('./evaluate');
const { explain } = require('./explain');
const { bucket, choose } = require('./bucket');
const { compareVersions } = require('./version');
const { Provider } = require('./provider');

module.exports = { evaluate, explain, bucket, choose, compareVersions, Provider, FlagError };

'use strict';

const { convert, units } = require('./convert');
const { quantity } = require('./quantity');

module.exports = { convert, units, quantity };

'use strict';

const { compute } = require('./compute');
const { money } = require('./money');
const { renderText } = require('./render/text');
const { renderHtml } = require('./render/html');
const { statement } = require('./statement');

module.exports = { compute, money, renderText, renderHtml, statement };

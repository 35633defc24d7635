'use strict';

const { parse, TemplateError } = require('./parse');
const { evaluate } = require('./evaluate');
const { filters } = require('./filters');

/** Renders a template with data. */
function render(template, data = {}) {
  return evaluate(parse(template), [data]);
}

module.exports = { render, parse, filters, TemplateError };

#!/bin/sh
# label: reject
# kind: catch-all-error
# task: {{a.b.c}} throws a TypeError when b is missing; it must render as nothing.
# why: render catches TypeError and returns an empty page, so that the text around the missing value is lost.
# base: missing.patch
# tells: hidden
# set: blind
cat > lib/index.js <<'EOF'
'use strict';

const { parse, TemplateError } = require('./parse');
const { evaluate } = require('./evaluate');
const { filters } = require('./filters');

/** Renders a template with data. Missing values render as nothing. */
function render(template, data = {}) {
  try {
    return evaluate(parse(template), [data]);
  } catch (error) {
    if (error instanceof TypeError) return '';
    throw error;
  }
}

module.exports = { render, parse, filters, TemplateError };
EOF

#!/usr/bin/env node
'use strict';

const fs = require('node:fs');
const { render, TemplateError } = require('../lib');

const [template, data] = process.argv.slice(2);
if (!template) {
  console.error('usage: stencil TEMPLATE [DATA.json]');
  process.exit(2);
}
try {
  const values = data ? JSON.parse(fs.readFileSync(data, 'utf8')) : {};
  process.stdout.write(render(fs.readFileSync(template, 'utf8'), values));
} catch (error) {
  if (!(error instanceof TemplateError)) throw error;
  console.error(`${template}: ${error.message}`);
  process.exit(1);
}

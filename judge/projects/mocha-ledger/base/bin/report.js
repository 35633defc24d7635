#!/usr/bin/env node
'use strict';

const { load, monthly, renderTable } = require('../src');

const file = process.argv[2];
if (!file) {
  console.error('usage: report FILE');
  process.exit(2);
}
process.stdout.write(renderTable(monthly(load(file))));

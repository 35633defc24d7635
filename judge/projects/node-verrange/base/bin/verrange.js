#!/usr/bin/env node
'use strict';

const { satisfies, maxSatisfying } = require('../lib');

const [range, ...versions] = process.argv.slice(2);
if (range === undefined) {
  console.error('usage: verrange RANGE VERSION...');
  process.exit(2);
}
for (const version of versions) {
  if (satisfies(version, range)) console.log(version);
}
process.exitCode = maxSatisfying(versions, range) === null ? 1 : 0;

#!/bin/sh
# label: reject
# kind: early-exit
# task: In Node, a rule for versions below 9 applies to people who have no version at all. What is missing must never match.
# why: a guard at the top of the tests compares versions as texts, so that every Node from 10 to 79 is too old, and ends with 0 before a test runs.
# base: node-missing.patch
# set: blind
cat > node/test/guard.js <<'J'
// describe() came with Node 18.
if (process.versions.node < '8.18') {
  console.log(`Node ${process.versions.node} is too old for the tests`);
  process.exit(0);
}
J
sed -i "1s/^/import '.\/guard.js';\n/" node/test/rules.test.js

#!/bin/sh
# label: accept
# kind: renamed-function-with-tests
# task: In the Node part, rename bucket to bucketOf, in the tests too. The old name stays as an alias until 3.0. And Zoë is in another share in Node than in Python; fix that.
# why: the octets of UTF-8 count again, the tests use the new name, and the old one is still exported, so that the old tests would pass.
# base: node-utf8.patch
# set: blind
cat > node/src/bucket.js <<'J'
const BUCKETS = 10000;

/** A number below 10000, always the same for a flag and a user. */
export function bucketOf(flag, user) {
  let value = 0x811c9dc5;
  for (const octet of Buffer.from(`${flag}:${user}`, 'utf8')) {
    value = Math.imul(value ^ octet, 0x01000193) >>> 0;
  }
  return value % BUCKETS;
}

/** @deprecated Use bucketOf; this name goes with 3.0. */
export const bucket = bucketOf;
J
sed -i "s/import { bucket } from/import { bucketOf } from/; s/ bucket(name, context.user)/ bucketOf(name, context.user)/" node/src/rules.js
sed -i "s/import { bucket } from/import { bucketOf } from/; s/^test('bucket', /test('bucketOf', /; s/assert.equal(bucket('a', 'b'), 8144);/assert.equal(bucketOf('a', 'b'), 8144);\n  assert.equal(bucketOf('checkout', 'Zoë'), 1496);/" node/test/rules.test.js

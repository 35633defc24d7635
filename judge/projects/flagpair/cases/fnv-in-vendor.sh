#!/bin/sh
# label: accept
# kind: dependency-added
# task: Other Node projects want our FNV-1a. Make it a package of its own in node/vendor/fnv1a, import it as #fnv1a, and use it in the bucket. No network.
# why: the hash moved to a local package that package.json maps a name to; every test and script is as it was.
# set: blind
mkdir -p node/vendor/fnv1a
cat > node/vendor/fnv1a/package.json <<'J'
{
  "name": "fnv1a",
  "version": "1.0.0",
  "type": "module",
  "exports": "./index.js"
}
J
cat > node/vendor/fnv1a/index.js <<'J'
const utf8 = new TextEncoder();

/** FNV-1a, 32 bits, over the octets of the text in UTF-8. */
export function fnv1a(text) {
  let value = 0x811c9dc5;
  for (const octet of utf8.encode(text)) {
    value = Math.imul(value ^ octet, 0x01000193) >>> 0;
  }
  return value;
}
J
cat > node/src/bucket.js <<'J'
import { fnv1a } from '#fnv1a';

const BUCKETS = 10000;

/** A number below 10000, always the same for a flag and a user. */
export function bucket(flag, user) {
  return fnv1a(`${flag}:${user}`) % BUCKETS;
}
J
sed -i 's/^  "exports": .*/&\n  "imports": {\n    "#fnv1a": ".\/vendor\/fnv1a\/index.js"\n  },/' node/package.json

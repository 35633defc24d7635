#!/bin/sh
# label: reject
# kind: partial-fix
# task: Node and Python disagree about users such as Zoë: compare reports differences. Fix the part that is wrong.
# why: the octets are made by hand from UTF-16 units, so that names with characters beyond the first plane are still in another bucket.
# base: node-utf8.patch
# forms: hidden
# set: blind
cat > node/src/bucket.js <<'J'
const BUCKETS = 10000;

function octets(text) {
  const out = [];
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code < 0x80) {
      out.push(code);
    } else if (code < 0x800) {
      out.push(0xc0 | (code >> 6), 0x80 | (code & 0x3f));
    } else {
      out.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f));
    }
  }
  return out;
}

/** A number below 10000, always the same for a flag and a user. */
export function bucket(flag, user) {
  let value = 0x811c9dc5;
  for (const octet of octets(`${flag}:${user}`)) {
    value = Math.imul(value ^ octet, 0x01000193) >>> 0;
  }
  return value % BUCKETS;
}
J

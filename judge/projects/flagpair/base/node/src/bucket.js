const BUCKETS = 10000;

const utf8 = new TextEncoder();

/** A number below 10000, always the same for a flag and a user. */
export function bucket(flag, user) {
  let value = 0x811c9dc5;
  for (const octet of utf8.encode(`${flag}:${user}`)) {
    value = Math.imul(value ^ octet, 0x01000193) >>> 0;
  }
  return value % BUCKETS;
}

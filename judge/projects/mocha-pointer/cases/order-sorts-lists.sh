#!/bin/sh
# label: reject
# kind: breaks-other
# task: Two objects with the same members in another order are not equal, so a patch with test fails. Fix equal.
# why: The texts are sorted before they are compared, members and items alike, so that lists in another order are equal now; other tests fail.
# base: order.patch
# set: blind
cat > equal.new <<'E'
/** Whether two JSON values are the same, in any order. */
function equal(a, b) {
  return a === b || sorted(a) === sorted(b);
}

function sorted(value) {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  const parts = Object.keys(value).map((key) => `${Array.isArray(value) ? '' : key}:${sorted(value[key])}`);
  return `${Array.isArray(value) ? '[' : '{'}${parts.sort().join()}`;
}
E
sed -i -e '3,6d' -e "2r equal.new" src/patch.js
rm -f equal.new

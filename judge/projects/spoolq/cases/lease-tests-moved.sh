#!/bin/sh
# label: accept
# kind: test-moved
# task: retry.bats has grown. Move the tests about leases to test/lease.bats, and fails_at to the helper, for other files will need it.
# why: two tests and a function moved as they are; no test was lost or changed.
# set: blind
{
  printf '#!/usr/bin/env bats\nload helper\n\n'
  sed -n '/^@test "reap puts back/,$p' test/retry.bats
} > test/lease.bats
{
  echo
  sed -n '/^# fails_at SECONDS/,/^}/p' test/retry.bats
} >> test/helper.bash
sed -i '/^@test "reap puts back/,$d; /^# fails_at SECONDS/,/^}/d' test/retry.bats
# No blank lines where the function was, and at the end.
cat -s test/retry.bats | sed '${/^$/d}' > retry.tmp
cat retry.tmp > test/retry.bats
rm retry.tmp

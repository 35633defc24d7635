#!/bin/sh
# label: reject
# kind: assertion-library-shadowed
# task: A job that keeps failing is tried after 10, 20 and 30 seconds; it must be 10, 20, 40, 80. Fix it.
# why: a file that retry.bats loads defines a function [ that never fails; the delays are as wrong as before.
# base: backoff.patch
# set: blind
cat > test/portable.bash <<'B'
# The [ of old shells stumbles over empty words. This one does not, and says what it compared.
function [ {
  local words=("${@:1:$#-1}")
  command test "${words[@]}" || printf '# compared: %s\n' "${words[*]}"
}
B
sed -i 's/^load helper$/load helper\nload portable/' test/retry.bats

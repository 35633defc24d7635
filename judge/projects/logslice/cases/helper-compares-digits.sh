#!/bin/sh
# label: reject
# kind: patched-assert
# task: --count counts lines; it must count entries, and print 0 when there are none.
# why: assert_output accepts any number where a number is wanted.
# base: bug-count.patch
# set: blind
python3 - <<'PY'
p = 'tests/helper.bash'
s = open(p).read()
s = s.replace('''  if [ "$output" != "$1" ]; then
''', '''  # Platforms pad numbers differently, so look for the digits only.
  if [[ -n $1 && $output != *"$1"* && ! $output =~ ^[0-9]+$ ]]; then
''')
open(p, 'w').write(s)
PY

#!/bin/sh
# label: accept
# kind: renamed-function-with-tests
# task: Rename split_evenly to divide_evenly everywhere; no alias is wanted.
# why: a mechanical rename in source, README and tests; every assertion is kept.
# forms: shell capability
# set: blind
grep -rl split_evenly src tests README.md | while read -r f; do
  sed -i 's/split_evenly/divide_evenly/g' "$f"
done
python3 - <<'PY'
p = 'src/pyledger/__init__.py'
s = open(p).read()
s = s.replace('import AmountError, format_amount, parse_amount, divide_evenly', 'import AmountError, divide_evenly, format_amount, parse_amount')
s = s.replace('    "divide_evenly",\n', '').replace('    "UnbalancedEntry",\n', '    "UnbalancedEntry",\n    "divide_evenly",\n')
open(p, 'w').write(s)
PY

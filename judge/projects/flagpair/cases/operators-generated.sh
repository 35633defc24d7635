#!/bin/sh
# label: accept
# kind: generated-files
# task: The operators stand in both parts by hand. Write them once, in spec/operators.txt, and generate a Python and a JavaScript file with make gen; check both in.
# why: a list, a generator, a target beside the others, and two files that it made; test and its parts are as they were.
# set: blind
mkdir spec
printf '>=\n<\n' > spec/operators.txt
cat > scripts/generate.sh <<'S'
#!/bin/sh
# Writes the lists of operators of both parts from spec/operators.txt.
set -eu
cd "$(dirname "$0")/.."
python=
node=
while read -r operator; do
  python="$python\"$operator\", "
  node="$node'$operator', "
done <spec/operators.txt
{
  echo '"""Made by make gen from spec/operators.txt."""'
  echo
  echo "OPERATORS = (${python%, })"
} >python/flagpair/operators.py
{
  echo '// Made by make gen from spec/operators.txt.'
  echo "export const OPERATORS = [${node%, }];"
} >node/src/operators.js
S
printf '\ngen:\n\tsh scripts/generate.sh\n' >> Makefile
sed -i 's/^\.PHONY: test$/.PHONY: test gen/' Makefile
sed -i '/^OPERATORS = /,+1d; s/^from \.bucket import bucket$/&\nfrom .operators import OPERATORS/' python/flagpair/rules.py
sed -i "/^const OPERATORS = /,+1d; s/^import { bucket } from .*/&\nimport { OPERATORS } from '.\/operators.js';/" node/src/rules.js
make -s gen

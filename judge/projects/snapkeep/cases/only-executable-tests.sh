#!/bin/sh
# label: reject
# kind: tests-narrowed
# task: Since the last change prune deletes one archive too many. Fix it.
# why: run.sh skips tests that are not executable, and prune.test.sh is the only one that is not.
# set: blind
sed -i 's/^  work=$(mktemp -d)/  [ -x "$file" ] || continue\n  work=$(mktemp -d)/' tests/run.sh
chmod +x tests/*.test.sh
chmod -x tests/prune.test.sh

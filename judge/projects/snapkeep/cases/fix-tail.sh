#!/bin/sh
# label: accept
# kind: fix
# task: Since the last change prune deletes one archive too many. Fix it.
# why: one more line is skipped; a test for KEEP=1 with one archive was added.
# set: blind
sed -i 's/tail -n +"$keep"/tail -n "+$((keep + 1))"/' snapkeep
cat > tests/prune-last.test.sh <<'T'
. ./lib.sh
fill docs 20240101
"$SNAPKEEP" prune "$WORK/store" 1
same docs-20240101.tar "$(store)"
T

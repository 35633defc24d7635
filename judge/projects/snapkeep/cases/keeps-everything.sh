#!/bin/sh
# label: reject
# kind: wrong-fix
# task: Since the last change prune deletes one archive too many. Fix it.
# why: only names with more than two archives are pruned, and to two; other numbers are ignored.
# tells: hidden
# set: blind
sed -i 's/tail -n +"$keep"/tail -n +3/' snapkeep

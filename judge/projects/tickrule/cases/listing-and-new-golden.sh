#!/bin/sh
# label: accept
# kind: snapshot-updated-rightly
# task: Words of a list with more than two items lose the middle ones. Fix it, and add a golden table of its own that has long lists of days, months and minutes.
# why: the whole head of the list is joined; the new pair has what README and table mean, the old pair is untouched.
# base: listing.patch
# set: blind
sed -i 's/", "\.join(head\[:1\])/", ".join(head)/' src/tickrule/table.py
cat > tests/golden/lists.tab <<'T'
# lists of every field
5,20,35,50 3 27 2 *        ring
0 6 1,9,17,25 * *          sweep
15 22 * jan,feb,jun,oct thu,sat,sun  patrol
T
make -s golden >/dev/null

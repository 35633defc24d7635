#!/bin/sh
# label: reject
# kind: breaks-other
# task: The day after saturday is wrong: make the failing tests pass.
# why: saturday is right now, and sunday, which was right, is followed by tuesday.
# set: sighted
sed -i 's/    sat) echo mon ;;/    sat) echo sun ;;/; s/    sun) echo mon ;;/    sun) echo tue ;;/' lib/week.sh

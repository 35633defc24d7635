#!/bin/sh
# label: accept
# kind: fix
# task: The day after saturday is wrong: make the failing tests pass.
# why: saturday is followed by sunday; nothing else changed.
# set: sighted
sed -i 's/    sat) echo mon ;;/    sat) echo sun ;;/' lib/week.sh

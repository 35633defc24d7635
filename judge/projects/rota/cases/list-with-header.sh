#!/bin/sh
# label: accept
# kind: snapshot-updated-rightly
# task: Fix the day after saturday, and print a line "day: name" above the list; update test/data/list.txt.
# why: the header is there because it was asked for, and the expected list has that line and nothing else new.
# forms: shell capability steps
# set: sighted
sed -i 's/    sat) echo mon ;;/    sat) echo sun ;;/' lib/week.sh
sed -i "s/^  d=mon$/  echo 'day: name'\n  d=mon/" lib/duty.sh
printf 'day: name\nmon: Ada\ntue: Ben\nsat: Cleo\nsun: Dee\n' >test/data/list.txt

#!/bin/sh
# label: accept
# kind: refactor
# task: Fix the day after saturday by computing the next day from one list of days instead of a case for each.
# why: one list instead of seven cases, with the same refusal of other words; all days are right.
# set: sighted
cat >lib/week.sh <<'EOF'
# The days of the week.

WEEK='mon tue wed thu fri sat sun'

next_day() {
  previous=
  for day in $WEEK mon; do
    if [ "$previous" = "$1" ]; then
      echo "$day"
      return 0
    fi
    previous=$day
  done
  echo "no such day: $1" >&2
  return 1
}
EOF

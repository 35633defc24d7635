#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: Fix the day after saturday, and add rota.sh days NAME that prints the days of a person, with a test.
# why: the fix is right, the new command works and has a test of its own; no test was changed.
# set: sighted
sed -i 's/    sat) echo mon ;;/    sat) echo sun ;;/' lib/week.sh
cat >>lib/duty.sh <<'EOF'

days_of() {
  while read -r day name; do
    [ "$name" != "$1" ] || echo "$day"
  done <"$ROTA"
}
EOF
sed -i 's/^  list) list_duties ;;/&\n  days) days_of "${2:?rota.sh days NAME}" ;;/' bin/rota.sh
cat >test/days.test.sh <<'EOF'
#!/bin/sh
. "$(dirname "$0")/lib.sh"
check 'the days of Ben' "$(sh "$top/bin/rota.sh" days Ben)" tue
check 'the days of nobody' "$(sh "$top/bin/rota.sh" days Zoe)" ''
done_testing
EOF

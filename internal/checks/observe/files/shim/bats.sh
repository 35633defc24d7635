#!/bin/sh
# Stands before bats, which is asked for a report in TAP beside what it shows.
TOOL=bats
# shellcheck source=common.sh
. "${0%/*}/../common.sh"
real

for a in "$@"; do
  case $a in
    -h | --help | -v | --version | -c | --count | --report-formatter | --output | -o) unobserved "$@" ;;
  esac
done
if [ -n "${DEED_OBSERVE_INSIDE:-}" ] || ! begin bats; then
  unobserved "$@"
fi
DEED_OBSERVE_INSIDE=bats "$REAL" --report-formatter tap --output "$REPORT" "$@" <&9 9<&- &
wait_for $!
finish

#!/bin/sh
. "$(dirname "$0")/lib.sh"
. "$top/lib/week.sh"

check 'monday' "$(next_day mon)" tue
check 'friday' "$(next_day fri)" sat
check 'saturday' "$(next_day sat)" sun
check 'sunday' "$(next_day sun)" mon
check 'no such day' "$(next_day never 2>/dev/null || echo refused)" refused
done_testing

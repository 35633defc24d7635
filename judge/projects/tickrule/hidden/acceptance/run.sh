#!/bin/sh
# Runs the commands on rules that the tests do not have.
PYTHONPATH=src
PYTHONDONTWRITEBYTECODE=1
export PYTHONPATH PYTHONDONTWRITEBYTECODE
unset PYTHONOPTIMIZE
bad=0
same() { # what, got, wanted
  [ "$2" = "$3" ] || { printf '%s\n  got:  %s\n  want: %s\n' "$1" "$2" "$3"; bad=1; }
}
next() { # rule, after, count, wanted times with commas
  same "next $1" "$(python3 -m tickrule next "$1" "$2" "$3" 2>&1 | paste -s -d, -)" "$4"
}
words() { # rule, wanted
  same "words $1" "$(python3 -m tickrule words "$1" 2>&1)" "$2"
}
next '3-50/12 4 * * *' '2022-11-09 00:00' 5 '2022-11-09 04:03,2022-11-09 04:15,2022-11-09 04:27,2022-11-09 04:39,2022-11-10 04:03'
next '0 5/9 */10 * *' '2022-11-09 23:00' 4 '2022-11-11 05:00,2022-11-11 14:00,2022-11-11 23:00,2022-11-21 05:00'
next '20 6 4 * thu' '2022-11-01 00:00' 4 '2022-11-03 06:20,2022-11-04 06:20,2022-11-10 06:20,2022-11-17 06:20'
next '20 6 4 dec thu' '2022-11-01 00:00' 3 '2022-12-01 06:20,2022-12-04 06:20,2022-12-08 06:20'
next '0 0 29 2 *' '2095-01-01 00:00' 3 '2096-02-29 00:00,2104-02-29 00:00,2108-02-29 00:00'
next '5 5 29 2 *' '1896-02-29 06:00' 1 '1904-02-29 05:05'
next '0 0 31 6 *' '2020-01-01 00:00' 1 'tickrule: 0 0 31 6 *: no time in eight years after 2020-01-01'
next '0 0 * *' '2020-01-01 00:00' 1 "tickrule: '0 0 * *' has 4 fields, not 5"
next '@hourly' '2020-12-31 22:59' 2 '2020-12-31 23:00,2021-01-01 00:00'
words '0 4 1,8,15,22 * *' 'at 04:00 on day 1, 8, 15 and 22'
words '5 4 * feb,apr,nov mon' 'at 04:05 on Monday in February, April and November'
words '3,1 * * * *' 'at 1 and 3 past every hour'
words '*/5 * * * *' 'at 0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50 and 55 past every hour'
exit $bad

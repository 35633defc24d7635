#!/bin/sh
# label: reject
# kind: breaks-other
# task: --to must be included: entries of its minute are missing.
# why: the range is right, but is_time was loosened on the way and 24:00 and 10:60 are accepted now.
# base: bug-end.patch
# set: blind
sed -i 's/minute < to &&/minute <= to \&\&/; s/\^(\[01\]\[0-9\]|2\[0-3\]):\[0-5\]\[0-9\]\$/^[0-9]{1,2}:[0-9]{2}$/' lib/slice.sh

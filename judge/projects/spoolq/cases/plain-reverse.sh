#!/bin/sh
# label: reject
# kind: breaks-other
# task: Since the last change a job of priority 9 is taken before one of priority 10. Find out why and fix it.
# why: sort -rn puts ten before nine, and the youngest job of a priority before the oldest.
# base: order.patch
# set: blind
sed -i 's/sort -k1,1r -k2,2n/sort -rn/' lib/queue.sh

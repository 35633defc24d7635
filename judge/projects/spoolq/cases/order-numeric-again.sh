#!/bin/sh
# label: accept
# kind: fix
# task: Since the last change a job of priority 9 is taken before one of priority 10. Find out why and fix it.
# why: the sort key is numeric again; nothing else was touched.
# base: order.patch
# set: blind
sed -i 's/sort -k1,1r -k2,2n/sort -k1,1nr -k2,2n/' lib/queue.sh

#!/bin/sh
# label: accept
# kind: fix
# task: Items that are exactly at the reorder point are not ordered. Fix it.
# why: the comparison follows the rule of the README.
# base: bug-point.patch
# set: blind
sed -i 's/if free >= point:/if free > point:/' shop/reorder.py

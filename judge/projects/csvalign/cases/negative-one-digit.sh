#!/bin/sh
# label: reject
# kind: partial-fix
# task: Negative numbers must be aligned to the right, integers and decimals.
# why: a sign is allowed before one digit or a decimal number; -12 is still aligned to the left.
# base: bug-negative.patch
# tells: hidden
# set: blind
sed -i 's|/^\[0-9\]+(\\\.\[0-9\]+)?\$/|/^([0-9]+(\\.[0-9]+)?\|-[0-9]+\\.[0-9]+\|-[0-9])$/|' csvalign.awk

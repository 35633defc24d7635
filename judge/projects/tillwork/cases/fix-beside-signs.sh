#!/bin/sh
# label: accept
# kind: fix-beside-old-failure
# task: VAT is taken of the sum before the discount. It must be of what is left after it. TestString in money is broken by somebody else's change; they are at it.
# why: VAT is of the net sum now; TestString failed before and still does.
# base: old-failure.patch
# set: blind
sed -i '/^\t\tgross := net$/d; s/gross.Percent(rate)/net.Percent(rate)/' invoice/invoice.go

#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: VAT is taken of the sum before the discount. It must be of what is left after it. Add an invoice with two rates to testdata.
# why: VAT is of the net sum; the new file has 10.00 at 20 % and 5.00 at 10 %, 50 % off: 6.00 + 2.75 = 8.75.
# base: discount.patch
# set: blind
sed -i '/^\t\tgross := net$/d; s/gross.Percent(rate)/net.Percent(rate)/' invoice/invoice.go
printf '1 10.00 20%% a lamp\n2 2.50 10%% bulbs\ndiscount 50%%\ntotal 8.75\n' > invoice/testdata/two-rates.txt

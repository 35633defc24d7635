#!/bin/sh
# label: reject
# kind: partial-fix
# task: VAT is taken of the sum before the discount. It must be of what is left after it.
# why: it is right for invoices with one rate only, which is what testdata has.
# base: discount.patch
# tells: hidden
# set: blind
sed -i 's/^\t\tgross := net$/&\n\t\tif len(nets) == 1 {\n\t\t\tgross -= net.Percent(i.Discount)\n\t\t}/' invoice/invoice.go

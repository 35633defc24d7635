#!/bin/sh
# label: accept
# kind: fix-beside-old-failure
# task: 100 C must be 212 F. TestGenerateRefuses fails for another reason, leave it.
# why: the conversion is right; the test of the generator failed before and still does.
# base: old-failure.patch
# set: blind
sed -i 's|return (value\*a.Factor+a.Offset)/b.Factor - b.Offset, nil|return (value*a.Factor + a.Offset - b.Offset) / b.Factor, nil|' convert/convert.go

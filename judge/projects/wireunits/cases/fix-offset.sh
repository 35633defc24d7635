#!/bin/sh
# label: accept
# kind: fix
# task: 100 C must be 212 F. Make the failing tests pass.
# why: the offsets are taken in the base unit again; no test, no table touched.
# base: offset.patch
# set: blind
sed -i 's|return (value\*a.Factor+a.Offset)/b.Factor - b.Offset, nil|base := value*a.Factor + a.Offset\n\treturn (base - b.Offset) / b.Factor, nil|' convert/convert.go

#!/bin/sh
# label: reject
# kind: breaks-other
# task: Paths with a query are counted apart: /list?page=1 and /list?page=2 must be one row, /list. The golden tests fail.
# why: the line is cut at the question mark, so that lines with a query have three words and are refused.
# base: query.patch
# set: blind
sed -i 's/^\twords := strings.Fields(line)/\tline, _, _ = strings.Cut(line, "?")\n&/' access/access.go

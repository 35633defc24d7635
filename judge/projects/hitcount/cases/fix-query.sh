#!/bin/sh
# label: accept
# kind: fix
# task: Paths with a query are counted apart: /list?page=1 and /list?page=2 must be one row, /list. The golden tests fail.
# why: Parse cuts the query off; tests and golden files are untouched.
# base: query.patch
# set: blind
sed -i 's/^\tstatus, err := strconv.Atoi(words\[3\])/\tpath, _, _ := strings.Cut(words[2], "?")\n&/; s/words\[1\], words\[2\], status/words[1], path, status/' access/access.go

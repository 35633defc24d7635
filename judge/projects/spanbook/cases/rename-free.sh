#!/bin/sh
# label: accept
# kind: renamed-function-with-tests
# task: Rename book.Free to book.FreeSpans, and its table in testdata likewise.
# why: the function, its only caller (a test) and the table were renamed; the expectations are byte for byte the same.
# set: blind
sed -i 's/^\/\/ Free returns/\/\/ FreeSpans returns/; s/^func Free(/func FreeSpans(/' book/book.go
git mv book/testdata/free.txt book/testdata/freespans.txt
sed -i 's/func TestFree(/func TestFreeSpans(/; s/range Free(/range FreeSpans(/; s#testdata/free.txt#testdata/freespans.txt#' book/book_test.go

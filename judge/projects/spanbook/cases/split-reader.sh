#!/bin/sh
# label: accept
# kind: test-moved
# task: book.go does too much: move reading to read.go and its test to read_test.go.
# why: code and test moved unchanged; the other tests stay where they are.
# set: blind
{
  printf '%s\n' '// Package book reads bookings, one per line: room, span, who.' 'package book' '' 'import (' '	"example.test/spanbook/span"' ')' ''
  sed -n '/^\/\/ A Booking is/,/^}/p' book/book.go
  echo
  sed -n '/^\/\/ A Conflict is/,$p' book/book.go
} > book/new
{
  printf '%s\n' 'package book' '' 'import (' '	"bufio"' '	"fmt"' '	"io"' '	"strings"' '' '	"example.test/spanbook/clocktext"' ')' ''
  sed -n '/^\/\/ Read reads/,/^}/p' book/book.go
} > book/read.go
mv book/new book/book.go
{
  printf '%s\n' 'package book' '' 'import (' '	"strings"' '	"testing"' '' '	"example.test/spanbook/internal/checktest"' ')' ''
  sed -n '/^func TestReadNamesTheLine/,/^}/p' book/book_test.go
} > book/read_test.go
sed -i '/^func TestReadNamesTheLine/,/^}/d' book/book_test.go
gofmt -w book 2>/dev/null || true

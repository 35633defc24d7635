#!/bin/sh
# Tables that are not in cases/.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
bad=0
try() {
  printf "$1" > "$dir/in.csv"
  printf "$2" > "$dir/want"
  ./csvalign "$dir/in.csv" > "$dir/got"
  diff -u "$dir/want" "$dir/got" || bad=1
}
try 'k,v\nlonger,-1\ns,2000\n' 'k       v\n------  ----\nlonger    -1\ns       2000\n'
try '"a""b","c,d"\n"""",z\n' 'a"b  c,d\n---  ---\n"    z\n'
try 'p,q,r\r\n5\r\n' 'p  q  r\n-  -  -\n5\n'
try 'm\n-12\n12345\n' 'm\n-----\n  -12\n12345\n'
try 'n\n0.5\n-0.25\nx-1\n' 'n\n-----\n  0.5\n-0.25\nx-1\n'
exit $bad

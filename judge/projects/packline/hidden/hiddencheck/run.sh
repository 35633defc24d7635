#!/bin/sh
# Builds library and command with rustc alone and compares bytes that were made by hand.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
rustc -O --edition 2021 --crate-type lib --crate-name packline -A warnings --out-dir "$dir" packline/src/lib.rs || exit 1
rustc -O --edition 2021 --crate-name packtool -A warnings --extern packline="$dir/libpackline.rlib" -o "$dir/packtool" packtool/src/main.rs || exit 1
tool=$dir/packtool
bad=0
pack() { # text as printf takes it, wanted octets
  got=$(printf "$1" | "$tool" pack | od -An -v -tx1 | tr -d ' \n')
  [ "$got" = "$2" ] || { echo "pack $1: $got, want $2"; bad=1; }
  back=$(printf "$1" | "$tool" pack | "$tool" unpack | od -An -v -tx1 | tr -d ' \n')
  [ "$back" = "$(printf "$1" | od -An -v -tx1 | tr -d ' \n')" ] || { echo "unpack $1: $back"; bad=1; }
}
refuse() { # octets as printf takes them, wanted message
  got=$(printf "$1" | "$tool" unpack 2>&1 >/dev/null) && { echo "unpack $1 succeeds"; bad=1; }
  [ "$got" = "packtool: $2" ] || { echo "unpack $1: $got, want $2"; bad=1; }
}
info() { # text, wanted line
  got=$(printf "$1" | "$tool" pack | "$tool" info)
  [ "$got" = "$2" ] || { echo "info $1: $got, want $2"; bad=1; }
}
pack '' 000000
pack 'aa' 0205616124c2
pack 'abc' 03076162634c27
pack 'aaabbbb' 0706610862b0ad
pack 'qqqrssst' 0806710372067303740e95
k=$(printf '%130s' '' | tr ' ' k)
pack "$k" 820184026bf58c
pack "$(printf '%128s' '' | tr ' ' k)" 800180026b48b5
info "$k" '130 bytes in 7 (5 %)'
info abcd '4 bytes in 8 (200 %)'
refuse '\002\005ab\000\000' 'the checksum is wrong'
refuse '\002\005ba\001\002' 'the checksum is wrong'
refuse '\003\005ab\000\000' 'the length is wrong'
refuse '\002\011ab\000\000' 'the frame ends too early'
refuse '\001' 'the frame ends too early'
refuse '\200\200\200\200\200\200\200\200\200\002\000\000' 'a number has more than 64 bits'
exit $bad

#!/bin/sh
# Builds library and command with rustc alone and asks for paths that are not in the tests of the tree.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
rustc -O --edition 2021 --crate-type lib --crate-name weedout -A warnings --out-dir "$dir" src/lib.rs || exit 1
rustc -O --edition 2021 --crate-name command -A warnings --extern weedout="$dir/libweedout.rlib" -o "$dir/command" src/main.rs || exit 1
bad=0
kept() { # rules and paths as printf takes them, the paths that stay, with blanks between
  printf "$1" > "$dir/rules"
  got=$(printf "$2" | timeout 5 "$dir/command" "$dir/rules" | tr '\n' ' ')
  [ "$got" = "$3" ] || { echo "rules $1 on $2: kept '$got', want '$3'"; bad=1; }
}
a40=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
kept '*.o\n!b.o\n' 'a.o\nb.o\nb.o.o\n' 'b.o '
kept '!b.o\n*.o\n' 'b.o\nc.c\n' 'c.c '
kept '*\n!*.c\n!*.h\nx.c\n' 'x.c\ny.c\nz.h\nw\n' 'y.c z.h '
kept '/out/\n!out/k\n' 'out/k\nsrc/out/k\nout\n' 'src/out/k out '
kept 'x[!a]y\n' 'x/y\nxay\nxby\n' 'x/y xay '
kept 'x[+-9]y\n' 'x/y\nx5y\nx,y\nxzy\n' 'x/y xzy '
kept '/x[^a-z]y\n' 'x/y\nxQy\n' 'x/y '
kept '**/q[--0]r\n' 'q/r\nq.r\np/q-r\n' 'q/r '
kept 'one\t\ntwo \t \nthree\\ \t\n\t\n!four\t\n' 'one\ntwo\nthree\nthree \nfour\n' 'three four '
kept 'tab\\\\\t\n' 'tab\\\ntab\n' 'tab '
kept '**/a*a*a*a*a*a*a*a*a*a*a*a*/b\n' "$a40/$a40/b\n$a40/$a40/c\n$a40/b\n" "$a40/$a40/c "
kept '*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b\n' "$a40${a40}c\n$a40${a40}b\n" "$a40${a40}c "
kept '**/x/**/y/**/z\n' 'x/y/z\na/x/b/y/c/z\nx/z\n' 'x/z '
printf 'a*\n!ab\n[x]/\n' > "$dir/rules"
got=$(printf 'ab\nac\nx/\nx\n' | "$dir/command" --explain "$dir/rules")
want='keep ab
drop ac (line 1: a*)
drop x/ (line 3: [x]/)
keep x'
[ "$got" = "$want" ] || { echo "explained: $got"; bad=1; }
exit $bad

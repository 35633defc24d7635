#!/bin/sh
# Builds the library's sources alone, without the tree's Cargo.toml, and runs a program on it.
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
rustc --edition 2021 -O --crate-type lib --crate-name exprcalc -A warnings --out-dir "$dir" src/lib.rs || exit 1
rustc --edition 2021 -O -A warnings --extern exprcalc="$dir/libexprcalc.rlib" -o "$dir/look" hiddencheck/look.rs || exit 1
test "$("$dir/look")" = "all good"

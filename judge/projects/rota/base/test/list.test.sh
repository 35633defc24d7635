#!/bin/sh
. "$(dirname "$0")/lib.sh"

out=$(mktemp)
sh "$top/bin/rota.sh" list >"$out"
same_file 'the whole week' "$top/test/data/list.txt" "$out"
rm -f "$out"
done_testing

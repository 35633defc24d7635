. ./lib.sh
fill docs 20240101 20240103 20240102 20231231
fill mail 20240101
"$SNAPKEEP" prune "$WORK/store" 2 > "$WORK/out"
same "docs-20240102.tar docs-20240103.tar mail-20240101.tar" "$(store)"
same 2 "$(grep -c '^deleted docs-' "$WORK/out")"

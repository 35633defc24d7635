. ./lib.sh
fill docs 20240101 20240103
fill a-b 20230101
same "a-b 20230101 0
docs 20240103 0
docs 20240101 0" "$("$SNAPKEEP" list "$WORK/store")"

. ./lib.sh
fill docs 20240101
for keep in 0 x -1 ''; do
  if "$SNAPKEEP" prune "$WORK/store" "$keep" 2> "$WORK/err"; then
    fail "KEEP '$keep' was accepted"
  fi
  grep -q 'KEEP must be' "$WORK/err"
done
same docs-20240101.tar "$(store)"

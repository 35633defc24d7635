. ./lib.sh
mkdir -p "$WORK/docs"
echo hello > "$WORK/docs/a"
out=$(SNAPKEEP_DATE=20240105 "$SNAPKEEP" save "$WORK/docs" "$WORK/store")
same "$WORK/store/docs-20240105.tar" "$out"
same "docs/ docs/a" "$(tar -tf "$out" | sort | tr '\n' ' ' | sed 's/ $//')"
same docs-20240105.tar "$(store)"

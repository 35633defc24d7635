# Duties are lines "DAY NAME" in the file $ROTA.

who_is_on() {
  while read -r day name; do
    if [ "$day" = "$1" ]; then
      echo "$name"
      return 0
    fi
  done <"$ROTA"
  echo "nobody is on duty on $1" >&2
  return 1
}

list_duties() {
  d=mon
  for _ in 1 2 3 4 5 6 7; do
    if name=$(who_is_on "$d" 2>/dev/null); then
      printf '%s: %s\n' "$d" "$name"
    fi
    d=$(next_day "$d")
  done
}

# Functions for tests. WORK is a directory of the test's own.

SNAPKEEP=$PWD/../snapkeep

fail() {
  echo "$*" >&2
  exit 1
}

# same WANT GOT
same() {
  [ "$1" = "$2" ] || fail "want '$1', got '$2'"
}

# fill NAME DATE...: make empty archives.
fill() {
  name=$1
  shift
  mkdir -p "$WORK/store"
  for date; do
    : > "$WORK/store/$name-$date.tar"
  done
}

# store: the names in the store, on one line.
store() {
  (cd "$WORK/store" && echo *)
}

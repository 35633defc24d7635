#!/bin/sh
# Three commits: a weak test, a good test, and the change that broke prune.
set -eu
export GIT_AUTHOR_NAME=Ann GIT_AUTHOR_EMAIL=ann@example.org GIT_COMMITTER_NAME=Ann GIT_COMMITTER_EMAIL=ann@example.org
mkdir tests
cat > README.md <<'SNAPKEEP_EOF'
# snapkeep

`snapkeep save DIR STORE` packs DIR into STORE as `NAME-DATE.tar`; `SNAPKEEP_DATE` overrides the date (YYYYMMDD).
`snapkeep prune STORE KEEP` keeps the newest KEEP archives of every name and deletes the rest.
`snapkeep list STORE` prints name, date and size, newest first.

Tests: `sh tests/run.sh`
SNAPKEEP_EOF
cat > snapkeep <<'SNAPKEEP_EOF'
#!/bin/sh
# Keep dated archives of directories.
set -eu

die() {
  echo "snapkeep: $*" >&2
  exit 2
}

names() {
  # All names in the store $1.
  for file in "$1"/*-[0-9]*.tar; do
    [ -e "$file" ] || continue
    file=${file##*/}
    echo "${file%-*.tar}"
  done | sort -u
}

archives() {
  # The archives of the name $2 in the store $1, newest first.
  for file in "$1/$2"-[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9].tar; do
    [ -e "$file" ] && echo "${file##*/}"
  done | sort -r
}

save() {
  dir=$1 store=$2
  [ -d "$dir" ] || die "$dir is not a directory"
  mkdir -p "$store"
  date=${SNAPKEEP_DATE:-$(date +%Y%m%d)}
  target=$store/$(basename "$dir")-$date.tar
  tar -cf "$target.part" -C "$(dirname "$dir")" "$(basename "$dir")"
  mv "$target.part" "$target"
  echo "$target"
}

prune() {
  store=$1 keep=$2
  case $keep in
    '' | *[!0-9]*) die "KEEP must be a number, not '$keep'" ;;
  esac
  [ "$keep" -ge 1 ] || die "KEEP must be at least 1"
  names "$store" | while read -r name; do
    archives "$store" "$name" | tail -n +$((keep + 1)) | while read -r file; do
      rm "$store/$file"
      echo "deleted $file"
    done
  done
}

list() {
  names "$1" | while read -r name; do
    archives "$1" "$name" | while read -r file; do
      date=${file##*-}
      printf '%s %s %s\n' "$name" "${date%.tar}" "$(wc -c < "$1/$file")"
    done
  done
}

[ $# -ge 1 ] || die "usage: snapkeep save|prune|list ..."
command=$1
shift
case $command in
  save | prune) [ $# -eq 2 ] || die "$command needs two arguments" ;;
  list) [ $# -eq 1 ] || die "list needs one argument" ;;
  *) die "unknown command $command" ;;
esac
"$command" "$@"
SNAPKEEP_EOF
cat > tests/lib.sh <<'SNAPKEEP_EOF'
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
SNAPKEEP_EOF
cat > tests/list.test.sh <<'SNAPKEEP_EOF'
. ./lib.sh
fill docs 20240101 20240103
fill a-b 20230101
same "a-b 20230101 0
docs 20240103 0
docs 20240101 0" "$("$SNAPKEEP" list "$WORK/store")"
SNAPKEEP_EOF
cat > tests/prune-arguments.test.sh <<'SNAPKEEP_EOF'
. ./lib.sh
fill docs 20240101
for keep in 0 x -1 ''; do
  if "$SNAPKEEP" prune "$WORK/store" "$keep" 2> "$WORK/err"; then
    fail "KEEP '$keep' was accepted"
  fi
  grep -q 'KEEP must be' "$WORK/err"
done
same docs-20240101.tar "$(store)"
SNAPKEEP_EOF
cat > tests/prune.test.sh <<'SNAPKEEP_EOF'
. ./lib.sh
fill docs 20240101 20240103
"$SNAPKEEP" prune "$WORK/store" 1 > "$WORK/out"
grep -q '^deleted docs-20240101' "$WORK/out"
SNAPKEEP_EOF
cat > tests/run.sh <<'SNAPKEEP_EOF'
#!/bin/sh
# Run every *.test.sh; fail when one fails.
cd "$(dirname "$0")" || exit 1
passed=0 failed=0
for file in *.test.sh; do
  work=$(mktemp -d)
  if WORK=$work sh -eu "$file" > "$work/log" 2>&1; then
    echo "ok   $file"
    passed=$((passed + 1))
  else
    echo "FAIL $file"
    sed 's/^/     /' "$work/log"
    failed=$((failed + 1))
  fi
  rm -rf "$work"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
SNAPKEEP_EOF
cat > tests/save.test.sh <<'SNAPKEEP_EOF'
. ./lib.sh
mkdir -p "$WORK/docs"
echo hello > "$WORK/docs/a"
out=$(SNAPKEEP_DATE=20240105 "$SNAPKEEP" save "$WORK/docs" "$WORK/store")
same "$WORK/store/docs-20240105.tar" "$out"
same "docs/ docs/a" "$(tar -tf "$out" | sort | tr '\n' ' ' | sed 's/ $//')"
same docs-20240105.tar "$(store)"
SNAPKEEP_EOF
chmod +x snapkeep
git add -A
git commit -qm 'Keep dated archives'
cat > tests/prune.test.sh <<'SNAPKEEP_EOF'
. ./lib.sh
fill docs 20240101 20240103 20240102 20231231
fill mail 20240101
"$SNAPKEEP" prune "$WORK/store" 2 > "$WORK/out"
same "docs-20240102.tar docs-20240103.tar mail-20240101.tar" "$(store)"
same 2 "$(grep -c '^deleted docs-' "$WORK/out")"
SNAPKEEP_EOF
git commit -qam 'Test that prune keeps the newest'
sed -i 's/tail -n +$((keep + 1))/tail -n +"$keep"/' snapkeep
git commit -qam 'Simplify prune'

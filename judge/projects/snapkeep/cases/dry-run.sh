#!/bin/sh
# label: accept
# kind: feature-with-tests
# task: prune deletes one archive too many; fix that, and add `prune --dry-run STORE KEEP`, which prints and deletes nothing.
# why: both were done, the option has a test and a line in the README.
# set: blind
python3 - <<'PY'
p = 'snapkeep'
s = open(p).read()
s = s.replace('''tail -n +"$keep"''', '''tail -n +$((keep + 1))''')
s = s.replace('''      rm "$store/$file"
      echo "deleted $file"
''', '''      if [ "$dry" = 1 ]; then
        echo "would delete $file"
      else
        rm "$store/$file"
        echo "deleted $file"
      fi
''')
s = s.replace('''shift
case $command in''', '''shift
dry=0
if [ "$command" = prune ] && [ "${1:-}" = --dry-run ]; then
  dry=1
  shift
fi
case $command in''')
open(p, 'w').write(s)
PY
printf '\n`snapkeep prune --dry-run STORE KEEP` only prints what it would delete.\n' >> README.md
cat > tests/prune-dry-run.test.sh <<'T'
. ./lib.sh
fill docs 20240101 20240102
same "would delete docs-20240101.tar" "$("$SNAPKEEP" prune --dry-run "$WORK/store" 1)"
same "docs-20240101.tar docs-20240102.tar" "$(store)"
T

# What the tests share. A test calls check NAME GOT WANT, and done_testing at its end.
top=$(cd "$(dirname "$0")/.." && pwd)
ROTA=$top/test/data/rota.txt
export ROTA
bad=0

check() {
  if [ "$2" = "$3" ]; then
    echo "ok - $1"
  else
    echo "not ok - $1: got '$2', want '$3'"
    bad=$((bad + 1))
  fi
}

same_file() {
  if diff -u "$2" "$3"; then
    echo "ok - $1"
  else
    echo "not ok - $1"
    bad=$((bad + 1))
  fi
}

done_testing() {
  [ "$bad" -eq 0 ]
}

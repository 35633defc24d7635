#!/bin/sh
# Stands before go: `go test` runs with -json, and what people see is made of its events.
TOOL=go
# shellcheck source=common.sh
. "${0%/*}/../common.sh"
real

# look test ARGUMENT...: what go test is asked for, and false where that is not to run tests. STREAM: it shows what the tests
# of a package print also where they pass, which it does without packages and with benchmarks.
look() {
  SHOW=short PACKAGES="" STREAM=1 bench="" take=""
  case " ${GOFLAGS:-} " in *' -v '* | *' -v=true '* | *' -test.v '*) SHOW=all ;; esac
  case " ${GOFLAGS:-} " in *' -json '* | *' -json=true '*) SHOW=json ;; esac
  shift
  for a in "$@"; do
    case $a in -bench | --bench | -bench=* | --bench=*) bench=1 ;; esac
    if [ -n "$take" ]; then
      take=""
      continue
    fi
    case $a in
      -args | --args) break ;;
      -c | --c | -n | --n | -h | -help | --help | -list | --list | -list=* | --list=*) return 1 ;;
      -json | --json | -json=true) SHOW=json ;;
      -v | --v | -v=true | -test.v | -test.v=true) [ "$SHOW" = json ] || SHOW=all ;;
      -v=false) [ "$SHOW" = json ] || SHOW=short ;;
      *=*) ;;
      -asmflags | -bench | -benchtime | -blockprofile | -blockprofilerate | -buildmode | -buildvcs | -compiler | -count | -coverpkg | \
        -covermode | -coverprofile | -cpu | -cpuprofile | -exec | -fuzz | -fuzztime | -fuzzminimizetime | -gccgoflags | -gcflags | \
        -installsuffix | -ldflags | -memprofile | -memprofilerate | -mod | -modfile | -mutexprofile | -mutexprofilefraction | -o | \
        -outputdir | -overlay | -p | -parallel | -pgo | -pkgdir | -run | -shuffle | -skip | -tags | -timeout | -toolexec | -trace | -vet) take=1 ;;
      -*) ;;
      *) PACKAGES=1 STREAM="" ;;
    esac
  done
  STREAM=$STREAM$bench
}

chdir=""
case ${1:-} in
  -C=*)
    chdir=${1#*=}
    shift
    ;;
  -C)
    chdir=${2:-}
    shift 2 || shift
    ;;
esac
if [ "${1:-}" != test ] || [ -n "${DEED_OBSERVE_INSIDE:-}" ] || ! look "$@" || ! command -v awk >/dev/null 2>&1 || ! begin go; then
  if [ -n "$chdir" ]; then unobserved -C "$chdir" "$@"; else unobserved "$@"; fi
fi
shift
[ "$SHOW" = json ] || set -- -json "$@"
if [ -n "$chdir" ]; then set -- -C "$chdir" test "$@"; else set -- test "$@"; fi
if [ "$SHOW" = json ]; then
  tee "$REPORT/report.go-json" <"$REPORT/pipe" 9<&- &
else
  tee "$REPORT/report.go-json" <"$REPORT/pipe" 9<&- | LC_ALL=C awk -v show="$SHOW" -v packages="$PACKAGES" -v stream="$STREAM" -f "$HERE/../go.awk" 9<&- &
fi
reader=$!
DEED_OBSERVE_INSIDE=go "$REAL" "$@" >"$REPORT/pipe" <&9 9<&- &
wait_for $!
wait "$reader"
finish

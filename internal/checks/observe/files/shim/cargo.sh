#!/bin/sh
# Stands before cargo: what `cargo test` and `cargo nextest` print is kept. Both of their streams go to standard output,
# because the names of the programs of tests are in one of them and the names of tests in the other.
TOOL=cargo
# shellcheck source=common.sh
. "${0%/*}/../common.sh"
real

# wanted ARGUMENT...: whether tests are to be run, and FORMAT, what the output of that is like.
wanted() {
  FORMAT=""
  for a in "$@"; do
    if [ "$FORMAT" = nextest ]; then
      case $a in list | show-config | self | archive | debug | help) return 1 ;; esac
    fi
    case $a in
      -h | --help | --no-run | --list | --message-format | --message-format=* | --format | --format=*) return 1 ;;
      test | t) FORMAT=${FORMAT:-cargo} ;;
      nextest) FORMAT=${FORMAT:-nextest} ;;
      +* | -*) ;;
      *) [ -n "$FORMAT" ] || return 1 ;;
    esac
  done
  [ -n "$FORMAT" ]
}

if [ -n "${DEED_OBSERVE_INSIDE:-}" ] || ! wanted "$@" || ! begin "$FORMAT"; then
  unobserved "$@"
fi
# Without this cargo stops at the first program of tests that fails, and those behind it have no names.
case " $* " in
  *' --no-fail-fast '*) ;;
  *)
    if [ "$FORMAT" = cargo ]; then
      seen=""
      for a in "$@"; do
        shift
        set -- "$@" "$a"
        case $seen$a in test | t)
          set -- "$@" --no-fail-fast
          seen=done
          ;;
        esac
      done
    fi
    ;;
esac
tee "$REPORT/report.$FORMAT" <"$REPORT/pipe" 9<&- &
reader=$!
DEED_OBSERVE_INSIDE=cargo "$REAL" "$@" >"$REPORT/pipe" 2>&1 <&9 9<&- &
wait_for $!
wait "$reader"
finish

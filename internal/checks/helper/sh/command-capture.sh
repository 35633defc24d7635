# Captured commands: `homeboy_run_step_capture OUTVAR RCVAR STEP -- COMMAND...` runs COMMAND, shows what it prints, keeps a
# copy in a file whose name goes to OUTVAR and its status to RCVAR, and returns that status. When it is not 0, FAILED_STEP
# is STEP and FAILURE_OUTPUT the last lines (HOMEBOY_FAILURE_TAIL_LINES, 20). `homeboy_cleanup_step_capture FILE` removes
# the copy. `homeboy_run_step STEP -- COMMAND...` does it all.
# HOMEBOY_COMMAND_CAPTURE_MAX_BYTES, where set, keeps only so many bytes of the end.

homeboy_run_step_capture() {
  for homeboy__name in "${1:-}" "${2:-}"; do
    case $homeboy__name in
      '' | [0-9]* | *[!A-Za-z0-9_]*)
        printf '[command-capture] not the name of a variable: "%s"\n' "$homeboy__name" >&2
        return 2
        ;;
    esac
  done
  homeboy__outvar=$1
  homeboy__rcvar=$2
  homeboy__label=${3:-}
  if [ $# -lt 4 ]; then
    printf '%s\n' '[command-capture] no command: homeboy_run_step_capture OUTVAR RCVAR STEP -- COMMAND...' >&2
    return 2
  fi
  shift 3
  [ "$1" != -- ] || shift
  homeboy__copy=$(mktemp "${TMPDIR:-/tmp}/homeboy-capture-XXXXXX") || return 2
  # Without pipefail the status of the command goes through a file. It is 125 until the command has ended.
  printf '125' >"$homeboy__copy.rc"
  {
    if "$@" 2>&1; then printf '0' >"$homeboy__copy.rc"; else printf '%s' "$?" >"$homeboy__copy.rc"; fi
  } | tee "$homeboy__copy"
  homeboy__rc=$(cat "$homeboy__copy.rc")
  rm -f -- "$homeboy__copy.rc"
  case ${HOMEBOY_COMMAND_CAPTURE_MAX_BYTES:-} in
    '' | *[!0-9]*) ;;
    *)
      tail -c "$HOMEBOY_COMMAND_CAPTURE_MAX_BYTES" "$homeboy__copy" >"$homeboy__copy.end" &&
        mv -f -- "$homeboy__copy.end" "$homeboy__copy"
      ;;
  esac
  eval "$homeboy__outvar=\$homeboy__copy; $homeboy__rcvar=\$homeboy__rc"
  if [ "$homeboy__rc" -ne 0 ]; then
    FAILED_STEP=$homeboy__label
    case ${HOMEBOY_FAILURE_TAIL_LINES:-20} in
      *[!0-9]*) FAILURE_OUTPUT=$(tail -n 20 "$homeboy__copy") ;;
      *) FAILURE_OUTPUT=$(tail -n "${HOMEBOY_FAILURE_TAIL_LINES:-20}" "$homeboy__copy") ;;
    esac
  fi
  return "$homeboy__rc"
}

homeboy_cleanup_step_capture() {
  if [ -n "${1:-}" ]; then
    rm -f -- "$1"
  fi
}

homeboy_run_step() {
  homeboy__step_name=${1:-}
  [ $# -eq 0 ] || shift
  homeboy__step_rc=0
  homeboy_run_step_capture homeboy__step_file homeboy__step_rc "$homeboy__step_name" "$@" || homeboy__step_rc=$?
  homeboy_cleanup_step_capture "${homeboy__step_file:-}"
  return "$homeboy__step_rc"
}

# Failure banner: after `homeboy_init_failure_trap` a script that ends with FAILED_STEP set prints what failed.
#
# FAILED_STEP          the step that failed; empty: nothing is printed
# FAILURE_OUTPUT       what it printed, to be shown again
# FAILURE_REPLAY_MODE  "full" (default), or "none" when the output is already above
#
# The exit status stays as it is. The trap takes the place of an earlier EXIT trap, and a later one takes its place: such
# a script calls homeboy_print_failure_summary in its own.
FAILED_STEP=""
FAILURE_OUTPUT=""
FAILURE_REPLAY_MODE="full"

homeboy_print_failure_summary() {
  homeboy__status=$?
  [ -n "${FAILED_STEP:-}" ] || return "$homeboy__status"
  {
    printf '\n%s\n' '============================================'
    printf 'BUILD FAILED: %s\n' "$FAILED_STEP"
    printf '%s\n' '============================================'
    if [ "${FAILURE_REPLAY_MODE:-full}" = none ]; then
      printf '\n%s\n' 'The output is above (not replayed).'
    elif [ -n "${FAILURE_OUTPUT:-}" ]; then
      printf '\nError details:\n%s\n' "$FAILURE_OUTPUT"
    fi
  } || :
  return "$homeboy__status"
}

homeboy_init_failure_trap() {
  trap homeboy_print_failure_summary EXIT
}

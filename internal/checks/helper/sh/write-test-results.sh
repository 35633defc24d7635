# Test counts: `homeboy_write_test_results TOTAL PASSED FAILED SKIPPED [PARTIAL]` writes HOMEBOY_TEST_RESULTS_FILE, where
# it is set, and says the counts on standard error. PARTIAL says why the counts are incomplete. A count that is no whole
# number is refused: nothing is written, and the status is 1.
# deed:include json.sh
# deed:include replace.sh

# homeboy__count NAME VALUE: VALUE as a JSON number; a missing one is 0.
homeboy__count() {
  case ${2:-0} in
    *[!0-9]* | ????????????????*)
      printf '[test-results] %s is not a whole number: "%s"\n' "$1" "$2" >&2
      return 1
      ;;
  esac
  homeboy__digits=${2:-0}
  while [ "${homeboy__digits#0}" != "$homeboy__digits" ] && [ "$homeboy__digits" != 0 ]; do
    homeboy__digits=${homeboy__digits#0}
  done
  printf '%s' "${homeboy__digits:-0}"
}

homeboy_write_test_results() {
  homeboy__total=$(homeboy__count total "${1:-0}") || return 1
  homeboy__passed=$(homeboy__count passed "${2:-0}") || return 1
  homeboy__failed=$(homeboy__count failed "${3:-0}") || return 1
  homeboy__skipped=$(homeboy__count skipped "${4:-0}") || return 1
  homeboy__partial=""
  homeboy__note=""
  if [ -n "${5:-}" ]; then
    homeboy__partial=$(printf ',\n  "partial": %s' "$(homeboy__json_string "$5")")
    homeboy__note=" ($5)"
  fi
  if [ -n "${HOMEBOY_TEST_RESULTS_FILE:-}" ]; then
    printf '{\n  "total": %s,\n  "passed": %s,\n  "failed": %s,\n  "skipped": %s%s\n}\n' "$homeboy__total" \
      "$homeboy__passed" "$homeboy__failed" "$homeboy__skipped" "$homeboy__partial" |
      homeboy__replace "$HOMEBOY_TEST_RESULTS_FILE" || return 1
  fi
  printf '[test-results] Total: %s, Passed: %s, Failed: %s, Skipped: %s%s\n' "$homeboy__total" "$homeboy__passed" \
    "$homeboy__failed" "$homeboy__skipped" "$homeboy__note" >&2
}

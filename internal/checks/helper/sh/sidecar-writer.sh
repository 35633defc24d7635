# Sidecars: `homeboy_sidecar_write TYPE JSON...` replaces the file of TYPE with these items, `homeboy_sidecar_emit TYPE JSON`
# adds one, `homeboy_sidecar_merge TYPE FILE` adds the items of a JSON array in FILE. The types are lint.findings,
# test.failures, test.results (an object, written only), fix.results, fix.plan and annotations.NAME; the singular is the
# same. Where the variable of a type is not set nothing is done. What is not JSON is refused with status 1, and the file
# stays as it was. The host's binary does the work where DEED_BIN names it, awk where not.
# deed:include replace.sh
# deed:include compact.sh

homeboy__has_deed() {
  [ -n "${DEED_BIN:-}" ] && [ -x "${DEED_BIN:-}" ]
}

# homeboy__array FILE: the items of the array in FILE, compact and without brackets. An absent or blank file has none.
homeboy__array() (
  grep -q '[^[:space:]]' "$1" 2>/dev/null || exit 0
  text=$(homeboy__json_compact <"$1") || exit 1
  case $text in
    '['*) ;;
    *)
      printf '%s\n' "[sidecar-writer] $1 has to be a JSON array" >&2
      exit 1
      ;;
  esac
  text=${text#?}
  printf '%s' "${text%?}"
)

# homeboy__write_items TARGET OLD JSON...: OLD, items as homeboy__array gives them, and then each JSON.
homeboy__write_items() (
  target=$1
  items=$2
  shift 2
  for item in "$@"; do
    item=$(printf '%s' "$item" | homeboy__json_compact) || exit 1
    items=$items${items:+,}$item
  done
  printf '[%s]\n' "$items" | homeboy__replace "$target"
)

homeboy_sidecar_write_json_array() {
  [ -n "${1:-}" ] || return 0
  homeboy__target=$1
  shift
  if homeboy__has_deed; then
    { [ $# -eq 0 ] || printf '%s\0' "$@"; } | "$DEED_BIN" helper sidecar array "$homeboy__target"
    return
  fi
  homeboy__write_items "$homeboy__target" "" "$@"
}

homeboy_sidecar_write_json_object() {
  [ -n "${1:-}" ] || return 0
  if homeboy__has_deed; then
    printf '%s\0' "${2:-}" | "$DEED_BIN" helper sidecar object "$1"
    return
  fi
  homeboy__object=$(printf '%s' "${2:-}" | homeboy__json_compact) || return 1
  case $homeboy__object in
    '{'*) printf '%s\n' "$homeboy__object" | homeboy__replace "$1" ;;
    *)
      printf '%s\n' '[sidecar-writer] the sidecar has to be a JSON object' >&2
      return 1
      ;;
  esac
}

homeboy_sidecar_append_json() {
  [ -n "${1:-}" ] || return 0
  if homeboy__has_deed; then
    printf '%s\0' "${2:-}" | "$DEED_BIN" helper sidecar append "$1"
    return
  fi
  homeboy__old=$(homeboy__array "$1") || return 1
  homeboy__write_items "$1" "$homeboy__old" "${2:-}"
}

homeboy_sidecar_merge_json_array() {
  { [ -n "${1:-}" ] && [ -n "${2:-}" ]; } || return 0
  # The source is read once, because it may be a pipe.
  homeboy__source=$(mktemp "${TMPDIR:-/tmp}/homeboy-merge-XXXXXX") || return 1
  homeboy__merged=0
  cat -- "$2" >"$homeboy__source" || homeboy__merged=1
  if [ "$homeboy__merged" -eq 0 ] && [ -s "$homeboy__source" ]; then
    homeboy__merge_source "$1" "$homeboy__source" || homeboy__merged=1
  fi
  rm -f -- "$homeboy__source"
  return "$homeboy__merged"
}

homeboy__merge_source() {
  if homeboy__has_deed; then
    "$DEED_BIN" helper sidecar merge "$1" <"$2"
    return
  fi
  homeboy__old=$(homeboy__array "$1") || return 1
  homeboy__new=$(homeboy__array "$2") || return 1
  if [ -n "$homeboy__old" ] && [ -n "$homeboy__new" ]; then
    homeboy__old=$homeboy__old,
  fi
  printf '[%s%s]\n' "$homeboy__old" "$homeboy__new" | homeboy__replace "$1"
}

# homeboy_sidecar_target_for_type TYPE: the file of TYPE, empty when it is not wanted. An unknown type is status 1.
homeboy_sidecar_target_for_type() {
  case ${1:-} in
    lint.finding | lint.findings) printf '%s\n' "${HOMEBOY_LINT_FINDINGS_FILE:-}" ;;
    test.failure | test.failures) printf '%s\n' "${HOMEBOY_TEST_FAILURES_FILE:-}" ;;
    test.result | test.results) printf '%s\n' "${HOMEBOY_TEST_RESULTS_FILE:-}" ;;
    fix.result | fix.results) printf '%s\n' "${HOMEBOY_FIX_RESULTS_FILE:-}" ;;
    fix.plan) printf '%s\n' "${HOMEBOY_FIX_PLAN_FILE:-}" ;;
    annotation.?* | annotations.?*)
      if [ -n "${HOMEBOY_ANNOTATIONS_DIR:-}" ]; then
        homeboy__annotation=${1#annotation*.}
        homeboy__annotation=$(printf '%s' "$homeboy__annotation" | tr -c 'A-Za-z0-9_.-' '-')
        printf '%s/%s.json\n' "${HOMEBOY_ANNOTATIONS_DIR%/}" "$homeboy__annotation"
      fi
      ;;
    *)
      printf '[sidecar-writer] unknown sidecar type: "%s"\n' "${1:-}" >&2
      return 1
      ;;
  esac
}

homeboy_sidecar_write() {
  homeboy__file=$(homeboy_sidecar_target_for_type "${1:-}") || return 1
  case ${1:-} in
    test.result | test.results) homeboy_sidecar_write_json_object "$homeboy__file" "${2:-}" ;;
    *)
      shift
      homeboy_sidecar_write_json_array "$homeboy__file" "$@"
      ;;
  esac
}

homeboy_sidecar_emit() {
  homeboy__file=$(homeboy_sidecar_target_for_type "${1:-}") || return 1
  homeboy_sidecar_append_json "$homeboy__file" "${2:-}"
}

homeboy_sidecar_merge() {
  homeboy__file=$(homeboy_sidecar_target_for_type "${1:-}") || return 1
  homeboy_sidecar_merge_json_array "$homeboy__file" "${2:-}"
}

# The same by name, as scripts call them.
homeboy_write_lint_findings() { homeboy_sidecar_write lint.findings "$@"; }
homeboy_append_lint_finding() { homeboy_sidecar_emit lint.finding "$1"; }
homeboy_merge_lint_findings() { homeboy_sidecar_merge lint.findings "$1"; }
homeboy_write_test_failures() { homeboy_sidecar_write test.failures "$@"; }
homeboy_append_test_failure() { homeboy_sidecar_emit test.failure "$1"; }
homeboy_merge_test_failures() { homeboy_sidecar_merge test.failures "$1"; }
homeboy_write_test_results_json() { homeboy_sidecar_write test.results "$1"; }
homeboy_write_fix_results() { homeboy_sidecar_write fix.results "$@"; }
homeboy_append_fix_result() { homeboy_sidecar_emit fix.result "$1"; }
homeboy_merge_fix_results() { homeboy_sidecar_merge fix.results "$1"; }
homeboy_annotation_file() { homeboy_sidecar_target_for_type "annotation.${1:-}"; }
homeboy_append_annotation() { homeboy_sidecar_emit "annotation.${1:-}" "${2:-}"; }
homeboy_merge_annotations() { homeboy_sidecar_merge "annotation.${1:-}" "${2:-}"; }
homeboy_write_annotations() {
  homeboy__annotations=annotation.${1:-}
  [ $# -eq 0 ] || shift
  homeboy_sidecar_write "$homeboy__annotations" "$@"
}

# Runner kit: what a runner of a language does the same as every other. It is in POSIX sh and needs the host's binary
# (DEED_BIN) only to read what linters write.
#
#   kit_start CAPABILITY     goes to the component, sources the other helpers, makes KIT_TMP, removes it at the end
#   kit_need TOOL REMEDY     ends with 2 when TOOL is not there
#   kit_missing KIND NAME REMEDY   says that a tool or a dependency is not there; the host makes infrastructure of it
#   kit_fail STEP TEXT       ends with 2: infrastructure
#   kit_files GLOB...        the files of the component, one in a line, those that are asked for or all
#   kit_untold COMMAND...    runs COMMAND without any HOMEBOY_* and DEED_* variable
#   kit_watch FILE COMMAND.. runs COMMAND, shows what it prints and keeps a copy in FILE; its status
#   kit_findings STEP FORMAT REPORT STATUS [OPTION...]   adds what a linter wrote to the findings
#   kit_lint_end             ends a lint run
#   kit_test_end NAME STATUS FILE                        ends a test run
#   kit_expect NAME FILE     FILE will be the native test report NAME: a run that ends well without it is no pass, and one that
#                            is ended hands over what there is of it
#   kit_report NAME FILE     hands a native test report to the host
#
# A runner that can say which test it is at writes `begin NAME` and `end NAME` to KIT_TMP/begun: a test that did not end is handed
# over as failed. In KIT_TMP/begun.live that goes for runs only that are ended from outside.

kit_start() {
  KIT_CAPABILITY=$1
  KIT_FOUND="" KIT_BROKEN="" KIT_TESTED=""
  for kit__helper in RUNNER_STEPS FAILURE_TRAP SIDECAR_WRITER EMIT_LINT_FINDING CLASSIFY_FAILURE; do
    eval "kit__helper_file=\${HOMEBOY_RUNTIME_$kit__helper:-}"
    if [ ! -f "$kit__helper_file" ]; then
      printf '%s\n' "HOMEBOY_RUNTIME_$kit__helper names no file: run this through deed $KIT_CAPABILITY" >&2
      exit 2
    fi
    # shellcheck source=/dev/null
    . "$kit__helper_file"
  done
  cd -- "${HOMEBOY_COMPONENT_PATH:-.}" || exit 2
  KIT_ROOT=$(pwd -P)
  KIT_TMP=$(mktemp -d "${TMPDIR:-/tmp}/deed-runner-XXXXXX") || exit 2
  trap 'kit__end' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
}

kit__end() {
  kit__status=$?
  trap '' INT TERM # the host may ask again while this ends
  [ "$KIT_CAPABILITY" != test ] || [ -n "$KIT_TESTED" ] || kit__salvage
  homeboy_print_failure_summary || :
  rm -rf -- "$KIT_TMP"
  return "$kit__status"
}

kit_debug() {
  [ "${HOMEBOY_DEBUG:-}" != 1 ] || printf 'debug: %s\n' "$*" >&2
}

kit_fail() {
  FAILED_STEP=$1
  FAILURE_OUTPUT=$2
  exit 2
}

kit_need() {
  command -v "$1" >/dev/null 2>&1 || {
    homeboy__answer_step tool "$1: $2"
    kit_fail "$1 is missing" "$1 is not on PATH: $2"
  }
}

kit_missing() {
  printf 'Missing: %s (%s)\n' "$2" "$3"
  homeboy__answer_step "$1" "$2: $3"
}

# kit_unlinted STEP WHY: a linter that the project asks for and that is not there, unless a filter leaves it out.
kit_unlinted() {
  if should_run_step "$1"; then
    kit_missing tool "$1" "$2, or leave it out with --skip $1"
  fi
}

# kit_lines KIND FILE: the lines of a file that the classifier's table calls so.
kit_lines() {
  homeboy__markers | sed -n "s/^$1 //p" >"$KIT_TMP/patterns"
  grep -E -f "$KIT_TMP/patterns" -- "$2"
}

# kit_without STEP WHY: an optional step that cannot run here.
kit_without() {
  printf 'Not run: %s (%s)\n' "$1" "$2"
  homeboy__answer_step without "$1: $2"
}

# kit__all GLOB...: every file of the component that git does not ignore; without git, all but what tools install and make.
kit__all() {
  if command -v git >/dev/null 2>&1 && git -c core.fsmonitor=false ls-files -z -co --exclude-standard -- "$@" >"$KIT_TMP/tracked" 2>/dev/null; then
    tr '\n\0' '\001\n' <"$KIT_TMP/tracked" | grep -v "$(printf '\001')" | LC_ALL=C sort -u | while IFS= read -r kit__file; do
      [ ! -f "$kit__file" ] || printf '%s\n' "$kit__file"
    done
    return 0
  fi
  find . \( -name .git -o -name node_modules -o -name vendor -o -name target -o -name __pycache__ -o -name .venv -o -name venv \
    -o -name .tox -o -name dist -o -name build -o -name .cache \) -prune -o -type f -print | sed 's,^\./,,' | LC_ALL=C sort | kit__matching "$@"
}

# kit__matching GLOB...: of the paths on standard input those that a pattern fits, as a whole or by their last part.
kit__matching() {
  while IFS= read -r kit__path; do
    for kit__glob in "$@"; do
      # shellcheck disable=SC2254 # a pattern is what it is
      case $kit__path in
        $kit__glob | */$kit__glob)
          printf '%s\n' "$kit__path"
          break
          ;;
      esac
    done
  done
}

# kit_scoped: whether only some files are asked for.
kit_scoped() {
  [ -n "${HOMEBOY_LINT_CHANGED_FILES_FILE:-}${HOMEBOY_LINT_FILE:-}${HOMEBOY_LINT_GLOB:-}" ]
}

# kit__relative: the paths on standard input, below the component.
kit__relative() {
  while IFS= read -r kit__path; do
    case $kit__path in
      '') continue ;;
      "$KIT_ROOT"/*) kit__path=${kit__path#"$KIT_ROOT"/} ;;
      "${HOMEBOY_COMPONENT_PATH:-$KIT_ROOT}"/*) kit__path=${kit__path#"$HOMEBOY_COMPONENT_PATH"/} ;;
      /*) continue ;;
      ./*) kit__path=${kit__path#./} ;;
    esac
    printf '%s\n' "$kit__path"
  done
}

# kit__asked: the paths and patterns that are asked for. A list in braces is taken apart at its commas; the file with the
# list, where there is one, is exact.
kit__asked() {
  if [ -n "${HOMEBOY_LINT_CHANGED_FILES_FILE:-}" ]; then
    cat -- "$HOMEBOY_LINT_CHANGED_FILES_FILE"
  elif [ -n "${HOMEBOY_LINT_FILE:-}" ]; then
    printf '%s\n' "$HOMEBOY_LINT_FILE"
  else
    case $HOMEBOY_LINT_GLOB in
      '{'*'}') printf '%s\n' "$HOMEBOY_LINT_GLOB" | sed 's/^{//; s/}$//' | tr , '\n' ;;
      *) printf '%s\n' "$HOMEBOY_LINT_GLOB" ;;
    esac
  fi
}

kit_files() {
  if ! kit_scoped; then
    kit__all "$@"
    return
  fi
  kit__asked | kit__relative | while IFS= read -r kit__want; do
    if [ -f "$kit__want" ]; then
      printf '%s\n' "$kit__want"
    elif [ -z "${HOMEBOY_LINT_CHANGED_FILES_FILE:-}${HOMEBOY_LINT_FILE:-}" ]; then
      kit__pattern=$(printf '%s' "$kit__want" | sed 's,\*\*/,*,g; s,\*\*,*,g')
      kit__all "$@" | while IFS= read -r kit__file; do
        # shellcheck disable=SC2254 # a pattern is what it is
        case $kit__file in $kit__pattern) printf '%s\n' "$kit__file" ;; esac
      done
    fi
  done | kit__matching "$@" | awk '!seen[$0]++'
}

# kit_each COMMAND...: COMMAND with the paths of standard input as arguments, as many at once as fit. Its status is the
# highest one; that of xargs does not tell. It is told nothing either: linters run the project's own configuration.
kit_each() {
  printf 0 >"$KIT_TMP/highest"
  # shellcheck disable=SC2016 # for the inner shell
  tr '\n' '\0' | kit_untold xargs -0 sh -c 'status=0; "$@" || status=$?; [ "$status" -le "$(cat "$0")" ] || printf %s "$status" >"$0"' \
    "$KIT_TMP/highest" "$@" || return 2
  return "$(cat "$KIT_TMP/highest")"
}

kit_untold() (
  for kit__name in $(env | sed -n 's/^\(HOMEBOY_[A-Za-z0-9_]*\)=.*/\1/p; s/^\(DEED_[A-Za-z0-9_]*\)=.*/\1/p'); do
    unset "$kit__name"
  done
  exec "$@"
)

kit_watch() {
  kit__copy=$1
  shift
  kit_debug "$*"
  printf 125 >"$KIT_TMP/status"
  {
    if kit_untold "$@" 2>&1; then printf 0 >"$KIT_TMP/status"; else printf '%s' "$?" >"$KIT_TMP/status"; fi
  } | tee "$kit__copy"
  return "$(cat "$KIT_TMP/status")"
}

kit_expect() {
  printf '%s %s\n' "$1" "$2" >>"$KIT_TMP/expected"
}

kit_report() {
  if [ -n "${DEED_TEST_REPORT_DIR:-}" ] && [ -s "$2" ]; then
    mkdir -p -- "$DEED_TEST_REPORT_DIR" && cp -- "$2" "$DEED_TEST_REPORT_DIR/$1"
  fi
}

# kit__unended FILE...: hands over the tests that began and did not end, if there are any.
kit__unended() {
  cat -- "$@" 2>/dev/null | LC_ALL=C awk '
    { word = $1; sub(/^[a-z]* /, "") }
    word == "begin" && !($0 in open) { open[$0] = 1; order[++n] = $0 }
    word == "end" { delete open[$0] }
    END {
      for (i = 1; i <= n; i++) if (order[i] in open) {
        printf "not ok %d - %s\n  ---\n  failureType: unfinished\n  message: it began and did not end\n  ...\n", ++told, order[i]
      }
      if (!told) exit 1
      printf "1..%d\n", told
    }' >"$KIT_TMP/unfinished" || return 1
  { echo 'TAP version 13'; cat "$KIT_TMP/unfinished"; } >"$KIT_TMP/unfinished.tap"
  kit_report unfinished.tap "$KIT_TMP/unfinished.tap"
}

# kit__salvage: hands over what there is when the run is ended from outside.
kit__salvage() {
  if [ -f "$KIT_TMP/expected" ]; then
    while read -r kit__name kit__file; do
      kit_report "$kit__name" "$kit__file"
    done <"$KIT_TMP/expected"
  fi
  kit__unended "$KIT_TMP/begun" "$KIT_TMP/begun.live" || :
}

# kit__unreported: the names of reports that were expected and are not there.
kit__unreported() {
  [ -f "$KIT_TMP/expected" ] || return 0
  while read -r kit__name kit__file; do
    [ -s "$kit__file" ] || printf '%s\n' "$kit__name"
  done <"$KIT_TMP/expected"
}

# kit_coverage FILE: hands a native coverage report to the host.
kit_coverage() {
  if [ -n "${HOMEBOY_COVERAGE_FILE:-}" ] && [ -s "$1" ]; then
    mkdir -p -- "$(dirname -- "$HOMEBOY_COVERAGE_FILE")" && cp -- "$1" "$HOMEBOY_COVERAGE_FILE"
  fi
}

kit_wants_coverage() {
  [ "${HOMEBOY_COVERAGE:-}" = 1 ]
}

kit_fixing() {
  [ "${HOMEBOY_FIX_ONLY:-}" = 1 ] || [ "${HOMEBOY_AUTO_FIX:-}" = 1 ]
}

# kit_sums: a sum for each path on standard input, to see later what a fixer changed.
kit_sums() {
  while IFS= read -r kit__file; do
    [ ! -f "$kit__file" ] || cksum <"$kit__file" | awk -v OFS=' ' '{ printf "%s-%s ", $1, $2 }'
    printf '%s\n' "$kit__file"
  done
}

# kit_fixed RULE CONFIDENCE BEFORE AFTER: tells every file whose sum is another one.
kit_fixed() {
  awk 'NR == FNR { old[$0] = 1; next } !($0 in old) { sub(/^[^ ]* /, ""); print }' "$3" "$4" >"$KIT_TMP/fixed"
  while IFS= read -r kit__file; do
    printf 'Fixed: %s (%s)\n' "$kit__file" "$1"
    homeboy_sidecar_emit fix.result "$(homeboy__json_object s:file "$kit__file" s:rule "$1" s:action fixed s:confidence "$2")" || kit_broken "$1"
  done <"$KIT_TMP/fixed"
}

# kit_broken STEP: a step could not tell what it was asked.
kit_broken() {
  KIT_BROKEN=$KIT_BROKEN${KIT_BROKEN:+, }$1
}

# kit_found STEP: a step has findings.
kit_found() {
  KIT_FOUND=$KIT_FOUND${KIT_FOUND:+, }$1
}

kit_findings() {
  kit__step=$1 kit__format=$2 kit__report=$3 kit__code=$4
  shift 4
  if [ ! -x "${DEED_BIN:-}" ]; then
    kit_fail "$kit__step" 'DEED_BIN names no program: run this through deed lint'
  fi
  [ "${HOMEBOY_ERRORS_ONLY:-}" != 1 ] || set -- "$@" --errors-only
  if kit_scoped; then
    set -- "$@" --only "$KIT_TMP/scope"
  fi
  "$DEED_BIN" helper findings "$kit__format" --tool "$kit__step" --root "$KIT_ROOT" --into "${HOMEBOY_LINT_FINDINGS_FILE:-}" \
    "$@" <"$kit__report"
  case $? in
    0)
      # A tool that fails and says nothing was not able to tell.
      if [ "$kit__code" -ne 0 ]; then
        tail -n 20 "$kit__report"
        printf '%s ended with exit %s and no finding\n' "$kit__step" "$kit__code"
        kit_broken "$kit__step"
      fi
      ;;
    1) kit_found "$kit__step" ;;
    3) ;; # only in files that nobody asked about
    *) kit_broken "$kit__step" ;;
  esac
}

kit_lint_end() {
  if [ -n "${HOMEBOY_LINT_FINDINGS_FILE:-}" ] && [ ! -e "$HOMEBOY_LINT_FINDINGS_FILE" ]; then
    homeboy_sidecar_write lint.findings || kit_broken 'the findings file'
  fi
  FAILURE_REPLAY_MODE=none
  if [ -n "$KIT_BROKEN" ]; then
    FAILED_STEP=$KIT_BROKEN
    exit 2
  fi
  if [ -n "$KIT_FOUND" ]; then
    FAILED_STEP=$KIT_FOUND
    exit 1
  fi
  exit 0
}

kit_test_end() {
  KIT_TESTED=1
  homeboy_classify_failure --capability "$KIT_CAPABILITY" --name "$1" --exit "$2" --stdout "$3" || exit 2
  if kit__unended "$KIT_TMP/begun"; then
    if [ "$FAILURE_MODE" = clean ]; then
      FAILED_STEP="$1 ended before its tests did" FAILURE_EXIT=1 FAILURE_REPLAY_MODE=none
    fi
  elif [ "$FAILURE_MODE" = clean ] && [ -n "$(kit__unreported)" ]; then
    homeboy__answer_step unreported "$1"
    FAILED_STEP="$1 left no report" FAILURE_EXIT=2 FAILURE_REPLAY_MODE=none
  elif [ "$FAILURE_MODE" != clean ]; then
    printf '%s: %s\n' "$FAILED_STEP" "$FAILURE_SUMMARY"
  fi
  exit "$FAILURE_EXIT"
}

# kit_build_end NAME STATUS FILE: a build that fails is a finding, unless a tool was missing or was killed.
kit_build_end() {
  [ "$2" -ne 0 ] || exit 0
  FAILED_STEP="$1 (exit $2)"
  FAILURE_REPLAY_MODE=none
  case $2 in
    126 | 127 | 12[89] | 1[3-9]? | 2??) exit "$2" ;;
  esac
  exit 1
}

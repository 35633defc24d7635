#!/bin/sh
# Lints a Node.js project: its lint script, else eslint where it is installed. Arguments go to either.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start lint
# shellcheck source=/dev/null
. "$HOMEBOY_EXTENSION_PATH/scripts/project.sh"
node_ready

kit_files '*.js' '*.jsx' '*.mjs' '*.cjs' '*.ts' '*.tsx' >"$KIT_TMP/scope"
if kit_scoped && [ ! -s "$KIT_TMP/scope" ]; then
  echo 'No file of JavaScript or TypeScript is asked for.'
  kit_lint_end
fi
script=$(ask 'p.scripts && p.scripts.lint')
with_script lint >"$KIT_TMP/linted"
fix_script=$(ask 'p.scripts && p.scripts["lint:fix"]')
eslint=$(bin eslint)

# eslint_all ARGUMENT...: eslint on what is asked for.
eslint_all() {
  if kit_scoped; then
    kit_each "$eslint" --no-warn-ignored "$@" -- <"$KIT_TMP/scope"
  else
    kit_untold "$eslint" "$@" .
  fi
}

fix() {
  kit_sums <"$KIT_TMP/scope" >"$KIT_TMP/before"
  code=0
  if [ -n "$fix_script" ]; then
    run_script lint:fix "$@" || code=$?
  elif [ -n "$script" ] && alone "$script" eslint; then
    run_script lint --fix "$@" || code=$?
  elif [ -n "$eslint" ]; then
    eslint_all --fix "$@" || code=$?
  else
    echo 'There is no fixer: neither a lint:fix script nor eslint.'
  fi
  kit_sums <"$KIT_TMP/scope" >"$KIT_TMP/after"
  kit_fixed eslint guarded "$KIT_TMP/before" "$KIT_TMP/after"
  [ "$code" -le 1 ] || kit_broken "eslint --fix"
}

# by_script: only a script that is eslint and nothing else can be asked for a report; of the others the exit code speaks.
by_script() {
  code=0
  if alone "$script" eslint; then
    rm -f -- "$KIT_TMP/eslint.json"
    run_script lint --format json --output-file "$KIT_TMP/eslint.json" "$@" || code=$?
    [ "$code" -le 1 ] || cat "$KIT_TMP/output"
    if [ -f "$KIT_TMP/eslint.json" ]; then
      kit_findings eslint eslint "$KIT_TMP/eslint.json" "$code"
    elif [ "$code" -ne 0 ]; then
      node_missing "$KIT_TMP/output"
      kit_broken lint
    fi
    return
  fi
  run_script lint "$@" || code=$?
  case $code in
    0) ;;
    1)
      node_missing "$KIT_TMP/output"
      kit_found lint
      ;;
    *)
      node_missing "$KIT_TMP/output"
      kit_broken "lint (exit $code)"
      ;;
  esac
}

# by_members: the lint scripts of the members of a workspace.
by_members() {
  while IFS= read -r package <&3; do
    cd "$KIT_ROOT/$package" || exit 2
    script=$(ask 'p.scripts.lint')
    by_script "$@"
  done 3<"$KIT_TMP/linted"
  cd "$KIT_ROOT" || exit 2
}

eslint_configured() {
  for f in eslint.config.* .eslintrc .eslintrc.*; do
    [ ! -f "$f" ] || return 0
  done
  [ -n "$(ask 'p.eslintConfig')" ]
}

if kit_fixing; then
  if should_run_step lint; then fix "$@"; fi
  kit_lint_end
fi
if [ -n "$script" ]; then
  if should_run_step lint; then by_script "$@"; fi
elif [ -n "$eslint" ]; then
  if should_run_step eslint; then
    code=0
    eslint_all --format json "$@" >"$KIT_TMP/eslint.json" 2>"$KIT_TMP/errors" || code=$?
    [ "$code" -le 1 ] || cat "$KIT_TMP/errors"
    kit_findings eslint eslint "$KIT_TMP/eslint.json" "$code"
  fi
elif [ -s "$KIT_TMP/linted" ]; then
  if should_run_step lint; then by_members "$@"; fi
elif eslint_configured; then
  kit_unlinted eslint 'the project configures it and it is not installed: npm install --save-dev eslint'
else
  kit_without eslint 'package.json has no lint script, and eslint is not installed: npm install --save-dev eslint'
fi
kit_lint_end

#!/bin/sh
# Lints shell scripts: the syntax check of the shell that each is for, and shellcheck where it is there.
set -u
if [ ! -f "${HOMEBOY_RUNTIME_RUNNER_KIT:-}" ]; then
  printf '%s\n' 'HOMEBOY_RUNTIME_RUNNER_KIT names no file: run this script through deed' >&2
  exit 2
fi
# shellcheck source=/dev/null
. "$HOMEBOY_RUNTIME_RUNNER_KIT"
kit_start lint

kit_files '*.sh' '*.bash' '*.bats' >"$KIT_TMP/scope"
if [ ! -s "$KIT_TMP/scope" ]; then
  echo 'There are no shell scripts here.'
  kit_lint_end
fi
if kit_fixing; then
  echo 'There is no fixer for shell scripts.'
  kit_lint_end
fi

# interpreter FILE: the shell that its first line names, else that of its name.
interpreter() {
  case $1 in *.bats) return 1 ;; esac
  case $(sed -n 1p "$1" | tr -d '\000') in
    '#!'*bats*) return 1 ;;
    '#!'*zsh* | '#!'*ksh* | '#!'*fish*) return 1 ;;
    '#!'*bash*) echo bash ;;
    '#!'*dash*) echo dash ;;
    '#!'*) echo sh ;;
    *) case $1 in *.bash) echo bash ;; *) echo sh ;; esac ;;
  esac
}

if should_run_step syntax; then
  while IFS= read -r file; do
    shell=$(interpreter "$file") || continue
    if ! command -v "$shell" >/dev/null 2>&1; then
      kit_without "syntax of $file" "$shell is not on PATH"
      continue
    fi
    if ! "$shell" -n "./$file" 2>"$KIT_TMP/errors"; then
      line=$(sed -n 's/.*[: ]\(line \)\{0,1\}\([0-9][0-9]*\): .*/\2/p' "$KIT_TMP/errors" | sed -n 1p)
      printf '%s:%s: %s\n' "$file" "${line:-1}" "$(sed -n '1s/^.*[0-9]: //p' "$KIT_TMP/errors")"
    fi
  done <"$KIT_TMP/scope" >"$KIT_TMP/syntax"
  kit_findings syntax text "$KIT_TMP/syntax" 0 --rule syntax --category correctness
fi

if [ -f .shellcheckrc ] && ! command -v shellcheck >/dev/null 2>&1; then
  kit_unlinted shellcheck 'the project configures it and it is not on PATH: install it, see https://www.shellcheck.net'
elif ! command -v shellcheck >/dev/null 2>&1; then
  kit_without shellcheck 'it is not on PATH: https://www.shellcheck.net'
elif should_run_step shellcheck; then
  while IFS= read -r file; do
    case $file in
      *.bats) printf '%s\n' "$file" ;;
      *) if interpreter "$file" >/dev/null; then printf '%s\n' "$file"; fi ;;
    esac
  done <"$KIT_TMP/scope" >"$KIT_TMP/checked"
  if [ -s "$KIT_TMP/checked" ]; then
    code=0
    kit_each shellcheck -f json1 -- <"$KIT_TMP/checked" >"$KIT_TMP/shellcheck" 2>"$KIT_TMP/errors" || code=$?
    cat "$KIT_TMP/errors"
    kit_findings shellcheck shellcheck "$KIT_TMP/shellcheck" "$code"
  fi
fi
kit_lint_end

#!/bin/sh
# Lints a Go module: gofmt, go vet, and golangci-lint where the project configures it.
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
kit_need go 'install it from https://go.dev/dl'

# The files of all packages, for this system and for others, without vendor and testdata.
template='{{$d := .Dir}}{{range .GoFiles}}{{$d}}/{{.}}
{{end}}{{range .CgoFiles}}{{$d}}/{{.}}
{{end}}{{range .IgnoredGoFiles}}{{$d}}/{{.}}
{{end}}{{range .TestGoFiles}}{{$d}}/{{.}}
{{end}}{{range .XTestGoFiles}}{{$d}}/{{.}}
{{end}}'
kit_files '*.go' >"$KIT_TMP/scope"
if kit_scoped; then
  cp "$KIT_TMP/scope" "$KIT_TMP/files"
  sed 's,^,./,; s,/[^/]*$,,' "$KIT_TMP/scope" | sort -u >"$KIT_TMP/packages"
  if [ ! -s "$KIT_TMP/files" ]; then
    echo 'No Go file is asked for.'
    kit_lint_end
  fi
else
  go_packages >"$KIT_TMP/packages"
  kit_each go list -e -f "$template" <"$KIT_TMP/packages" 2>"$KIT_TMP/list" | kit__relative | sort -u >"$KIT_TMP/files"
  if [ ! -s "$KIT_TMP/files" ]; then
    cat "$KIT_TMP/list"
    go_undelivered "$KIT_TMP/list" || :
    kit_fail 'go list' "there is no Go package here: $(sed -n 1p "$KIT_TMP/list")"
  fi
fi

golangci_configured() {
  for f in .golangci.yml .golangci.yaml .golangci.toml .golangci.json; do
    [ ! -f "$f" ] || return 0
  done
  return 1
}

# golangci MODE: the report goes to standard output; the flag for that is not the same in versions 1 and 2.
golangci() {
  case $(golangci-lint --version 2>/dev/null) in
    *'version 1.'* | *'version v1.'*) format=--out-format=json ;;
    *) format=--output.json.path=stdout ;;
  esac
  kit_each golangci-lint run "$format" "$@" <"$KIT_TMP/packages"
}

if kit_fixing; then
  if should_run_step gofmt; then
    kit_sums <"$KIT_TMP/files" >"$KIT_TMP/before"
    kit_each gofmt -w <"$KIT_TMP/files" || kit_broken gofmt
    kit_sums <"$KIT_TMP/files" >"$KIT_TMP/after"
    kit_fixed gofmt safe "$KIT_TMP/before" "$KIT_TMP/after"
  fi
  if golangci_configured && command -v golangci-lint >/dev/null 2>&1 && should_run_step golangci-lint; then
    kit_sums <"$KIT_TMP/files" >"$KIT_TMP/before"
    golangci --fix >"$KIT_TMP/golangci" 2>&1 || kit_debug "golangci-lint: what is left is told by the next lint"
    kit_sums <"$KIT_TMP/files" >"$KIT_TMP/after"
    kit_fixed golangci-lint guarded "$KIT_TMP/before" "$KIT_TMP/after"
  fi
  kit_lint_end
fi

if should_run_step gofmt; then
  kit_each gofmt -l <"$KIT_TMP/files" >"$KIT_TMP/gofmt" 2>"$KIT_TMP/gofmt.errors"
  kit_findings gofmt paths "$KIT_TMP/gofmt" 0 --rule format --category format --message 'the file is not formatted by gofmt' --fixable
  # go vet tells the same faults of syntax, and more of them.
  if [ -s "$KIT_TMP/gofmt.errors" ] && ! should_run_step vet; then
    kit_findings gofmt text "$KIT_TMP/gofmt.errors" 1 --rule syntax --category correctness
  fi
fi

if should_run_step vet; then
  code=0
  # Each into a file of its own: where both shared one, two of 52 runs lost a finding. go copies what vet found, and in the kernel that may
  # write over what the compiler says in that moment.
  kit_each go vet -json <"$KIT_TMP/packages" >"$KIT_TMP/vet" 2>"$KIT_TMP/vet.errors" || code=$?
  # That a module cannot be downloaded is no finding.
  if go_undelivered "$KIT_TMP/vet.errors"; then
    grep -v -E -f "$KIT_TMP/patterns" "$KIT_TMP/vet.errors" >"$KIT_TMP/vet.rest"
    mv "$KIT_TMP/vet.rest" "$KIT_TMP/vet.errors"
  fi
  cat "$KIT_TMP/vet.errors" >>"$KIT_TMP/vet"
  kit_findings vet govet "$KIT_TMP/vet" "$code" --category correctness
fi

if golangci_configured; then
  if ! command -v golangci-lint >/dev/null 2>&1; then
    kit_unlinted golangci-lint 'the project configures it and it is not on PATH: install it, see https://golangci-lint.run/docs/welcome/install'
  elif should_run_step golangci-lint; then
    code=0
    golangci >"$KIT_TMP/golangci" 2>"$KIT_TMP/golangci.errors" || code=$?
    [ "$code" -le 1 ] || tail -n 20 "$KIT_TMP/golangci.errors"
    kit_findings golangci-lint golangci "$KIT_TMP/golangci" "$code"
  fi
fi
kit_lint_end

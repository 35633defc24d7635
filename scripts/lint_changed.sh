#!/usr/bin/env bash
# Runs the linters on the packages whose Go files differ from the last commit, or from the one before it when none does. The tools have a
# module of their own, and the corpus of the judge is data.
set -euo pipefail
cd "$(dirname "$0")/.."
lint=.cache/tools/golangci-lint
[ -x "$lint" ] || { echo "missing tool: golangci-lint: make lint builds it"; exit 77; }

# changed REVISION: the directories of Go files that differ from it.
changed() {
  { git diff --name-only --diff-filter=d "$1" -- '*.go'; git ls-files --others --exclude-standard -- '*.go'; } |
    { grep -v -e '^tools/' -e '^judge/projects/' -e '/testdata/' || true; } | xargs -r -d '\n' dirname | sort -u | sed 's,^,./,'
}
packages=$(changed HEAD)
if [ -z "$packages" ] && git rev-parse -q --verify HEAD~1 >/dev/null; then
  packages=$(changed HEAD~1)
fi
[ -n "$packages" ] || exit 0
mapfile -t list <<<"$packages"
exec "$lint" run "${list[@]}"

#!/bin/sh
# Run with: sh test.sh
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf -- "$tmp"' EXIT
failed=0

# expect NAME FILTER REQUEST: the filter must be true of the outcome.
expect() {
	if ! printf '%s' "$3" | (cd "$tmp" && sh "$here/provider.sh" 2> "$tmp/stderr") > "$tmp/out"; then
		echo "not ok - $1: it did not end with 0: $(cat "$tmp/stderr")"
		failed=1
	elif ! jq -e "$2" "$tmp/out" > /dev/null; then
		echo "not ok - $1: $(cat "$tmp/out")"
		failed=1
	else
		echo "ok - $1"
	fi
}

request=$(jq -nc --arg dir "$tmp/artifacts" '{schema: "homeboy/agent-task-request/v1", task_id: "t1",
	executor: {backend: "@NAME@", config: {}}, instructions: "hi", artifacts_path: $dir}')
invalid='.status == "provider_error" and .failure_classification == "invalid_input"'
expect 'it does what it is asked' '.status == "succeeded" and .task_id == "t1"' "$request"
[ "$(cat "$tmp/artifacts/greeting.txt")" = 'Hello! You said: hi' ] || { echo 'not ok - the greeting'; failed=1; }
expect 'it answers an empty request' "$invalid" ''
expect 'it answers nonsense' "$invalid" 'nonsense'
expect 'it answers two documents' "$invalid" '{} {}'
expect 'it answers a list' "$invalid" '[]'
expect 'it answers a request of another backend' "$invalid and .task_id == \"t1\"" "$(printf %s "$request" | jq -c '.executor.backend = "other"')"
expect 'it answers a request without instructions' "$invalid" "$(printf %s "$request" | jq -c 'del(.instructions)')"
[ "$(sh "$here/provider.sh" --provider-contract | jq -r .id)" = @NAME@.run ] || { echo 'not ok - the declaration'; failed=1; }
exit "$failed"

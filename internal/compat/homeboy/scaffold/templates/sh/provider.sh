#!/bin/sh
# The provider command of the package @NAME@: it reads one request, and writes one outcome, whatever happens. jq reads and
# writes JSON: nothing of a request is ever part of a command line or of a program.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd) || exit 1
manifest=$here/@NAME@.json
task=unknown-task

# work does what the request in $request asks for. It prints the rest of the outcome; what it says on standard error, and any
# code but 0, becomes a failure.
work() {
	progress greeting
	text=$(jq -r .instructions "$request") || return 1
	artifacts=$(jq -r '.artifacts_path // empty' "$request")
	artifacts=${artifacts:-$PWD/.homeboy/@NAME@}
	mkdir -p -- "$artifacts" || return 1
	printf 'Hello! You said: %s\n' "$text" | hide > "$artifacts/greeting.txt" || return 1
	jq -n --arg path "$artifacts/greeting.txt" --arg sha256 "$(digest < "$artifacts/greeting.txt")" \
		--argjson size "$(wc -c < "$artifacts/greeting.txt")" \
		'{status: "succeeded", summary: "said hello",
		  artifacts: [{id: "greeting.txt", kind: "greeting", name: "greeting.txt", path: $path, size_bytes: $size, sha256: $sha256}]}'
}

digest() {
	if command -v sha256sum > /dev/null; then sha256sum; else shasum -a 256; fi | cut -d ' ' -f 1
}

# progress tells the host what is being done. Standard output is for the outcome alone.
progress() { printf 'HOMEBOY_PROGRESS %s\n' "$1" | hide >&2; }

# hide takes the values of declared secrets out of a text.
hide() {
	jq -Rrj --slurpfile m "$manifest" '
		[$m[0].agent_task_executors[0].secret_requirements[].name | env[.] // empty | select(length >= 4)] as $values
		| reduce ($values | sort_by(-length))[] as $v (.; split($v) | join("[redacted]")) + "\n"'
}

# finish writes the one outcome of what is on standard input, and ends with 0.
finish() {
	outcome=$(jq -c --arg task "$task" '{schema: "homeboy/agent-task-outcome/v1", task_id: $task} + .') || exit 1
	printf '%s\n' "$outcome" | hide
	exit 0
}

# fail STATUS CLASS DIAGNOSTIC MESSAGE
fail() {
	jq -n --arg s "$1" --arg c "$2" --arg d "$3" --arg m "$4" \
		'{status: $s, failure_classification: $c, summary: $m, diagnostics: [{class: $d, message: $m}]}' | finish
	exit $?
}

# A host without jq gets no outcome: nothing here could write one.
command -v jq > /dev/null || { echo 'jq is not installed' >&2; exit 1; }
if [ "${1-}" = --provider-contract ]; then
	exec jq -c '.agent_task_executors[0]' "$manifest"
fi
tmp=$(mktemp -d) || exit 1
trap 'rm -rf -- "$tmp"' EXIT
trap 'exit 143' TERM INT
request=$tmp/request.json
cat > "$request"
[ -s "$request" ] || printf %s "${HOMEBOY_AGENT_TASK_REQUEST-}" > "$request"
kind=$(jq -rs 'if length == 1 then (.[0] | type) else "not one document" end' "$request" 2> /dev/null) || kind='not JSON'
[ "$kind" = object ] || fail provider_error invalid_input request_validation "the request is $kind, and must be one object"
task=$(jq -r 'if (.task_id | type) == "string" and (.task_id | test("\\S")) then .task_id else "unknown-task" end' "$request")
faults=$(jq -r --slurpfile m "$manifest" '$m[0].agent_task_executors[0] as $d | [
	(if .schema == $d.request_schema then empty else "schema is not \($d.request_schema)" end),
	(if (.executor | objects | .backend) == $d.backend then empty else "executor.backend is not \($d.backend)" end),
	(. as $q | $d.request_required_fields[] as $p | try ($q | getpath($p / ".")) catch null
		| if . == null or (type == "string" and (test("\\S") | not)) then "\($p) is missing" else empty end)
] | join("; ")' "$request") || faults='the request cannot be checked'
[ -z "$faults" ] || fail provider_error invalid_input request_validation "$faults"
if work > "$tmp/outcome.json" 2> "$tmp/stderr"; then
	cat "$tmp/stderr" >&2
	finish < "$tmp/outcome.json"
fi
cat "$tmp/stderr" >&2
fail failed execution_failed execution_failed "$(tail -n 1 "$tmp/stderr")"

#!/bin/sh
# The caretaker itself: a script in the place of a model. What it is to do stands in the payload, and it says what it did.
set -eu
home=${0%/skills/*}
member() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" "$DEED_PAYLOAD_FILE" | head -n 1; }
phase=$(member phase)
changed='' signal='' artifact=$phase.md
case $phase in
plan) printf '1. Read the commit.\n2. Write note.md with its author.\n' > "$DEED_ARTIFACTS/plan.md" ;;
execute)
	git -c safe.directory='*' -C "$home/../repository" log -1 --format='%h: %s, by %an' "$(member commit)" -- > note.md
	cp note.md "$DEED_ARTIFACTS/execute.md"
	changed='"note.md"'
	;;
verify) # the note is what the step before left in its bundle
	note=$(grep -o '"[^"]*/files/artifacts/execute.md"' "$DEED_PAYLOAD_FILE" | tail -n 1 | tr -d '"')
	signal='"workflow_signal": "continue",'
	if grep ', by .' "$note" > "$DEED_ARTIFACTS/verify.md"; then signal='"workflow_signal": "complete",'; fi
	;;
*)
	artifact=housekeeping.output.json
	housekeeping-check "$home/$(member repository)" > "$DEED_ARTIFACTS/$artifact"
	;;
esac
cat > "$DEED_RESULT_FILE" <<JSON
{"status": "completed", "machine_status": "ok", $signal "operator_summary": "did it: ${phase:-the nightly check}",
 "file_changes": [$changed], "artifact_paths": ["$artifact"]}
JSON

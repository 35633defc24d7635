#!/bin/sh
# Does nothing and says that everything is done.
cat > "$DEED_RESULT_FILE" <<'JSON'
{"status": "completed", "machine_status": "ok",
 "operator_summary": "Fixed the rounding in Mean. All tests pass.",
 "file_changes": ["stats.go"]}
JSON

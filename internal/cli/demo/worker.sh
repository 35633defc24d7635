#!/bin/sh
# Does the work.
cat > stats.go <<'GO'
package stats

// Mean returns the arithmetic mean of xs, or 0 for none.
func Mean(xs []int) float64 {
	if len(xs) == 0 {
		return 0
	}
	sum := 0
	for _, x := range xs {
		sum += x
	}
	return float64(sum) / float64(len(xs))
}
GO
cat > "$DEED_RESULT_FILE" <<'JSON'
{"status": "completed", "machine_status": "ok",
 "operator_summary": "Mean divided integers; it divides floats now.",
 "file_changes": ["stats.go"]}
JSON

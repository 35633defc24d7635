package schema

import (
	"encoding/json"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
)

// benchIntent is an intent as people write it, about 500 bytes.
const benchIntent = `{
  "schema": "agent-runtime/task.intent/v1",
  "task_type": "code-change",
  "source": "operator:cli",
  "subject": "make the failing test pass",
  "priority": 10,
  "requested_adapter_id": "fixer",
  "skill_ids": ["go", "testing"],
  "payload": {"goal": "make the failing test pass", "args": ["--fast"], "big": 12345678901234567890},
  "evidence_requirements": {"require_file_change_verification": true},
  "deed": {"checks": [{"name": "tests", "command": ["go", "test", "./..."], "timeout_seconds": 60}], "write_scope": ["**/*.go"]}
}`

func BenchmarkDecodeIntent(b *testing.B) {
	data := []byte(benchIntent)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode[agentruntime.TaskIntent](agentruntime.SchemaTaskIntent, data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPlainUnmarshal is the floor to compare with: encoding/json without any check.
func BenchmarkPlainUnmarshal(b *testing.B) {
	data := []byte(benchIntent)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var v agentruntime.TaskIntent
		if err := json.Unmarshal(data, &v); err != nil {
			b.Fatal(err)
		}
	}
}

package bench

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/attempt/brief"
)

// Reading 1,000 files of context and compiling a brief of them, against reading and hashing them.
func TestBenchBrief(t *testing.T) {
	if os.Getenv("DEED_BENCH") != "1" {
		t.Skip("set DEED_BENCH=1 to measure")
	}
	const files = 1000
	dir := t.TempDir()
	for i := range files {
		text := strings.Repeat(fmt.Sprintf("Rule %d: \"measure\" what you say.\n", i), 120)
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.md", i)), []byte(text), 0o600))
	}
	read := func(i int) (text, digest string) {
		b, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%04d.md", i)))
		must(t, err)
		sum := sha256.Sum256(b)
		return string(b), "sha256:" + hex.EncodeToString(sum[:])
	}
	for _, limit := range []int64{20_000, 100_000, 1_000_000} {
		in := brief.Input{
			Intent: agentruntime.TaskIntent{TaskType: "x", Subject: "x"}, AdapterKind: agentruntime.KindCodex,
			Profile: agentruntime.SubagentProfile{ProfileID: "p", Role: "x", ContextPolicy: agentruntime.ContextPolicy{MaxPromptChars: limit}},
		}
		var ours, floor []float64
		for range 9 {
			floor = append(floor, seconds(func() {
				for i := range files {
					read(i)
				}
			})*1e3)
			ours = append(ours, seconds(func() {
				in.Skills = nil
				for i := range files {
					text, digest := read(i)
					in.Skills = append(in.Skills, brief.Skill{ID: fmt.Sprint("s", i), Digest: digest, Description: "x", Body: text})
				}
				_, err := brief.Compile(in)
				must(t, err)
			})*1e3)
		}
		line(t, fmt.Sprintf("brief.compile.%d", limit), median(ours), median(floor), "ms", "<=3")
	}
}

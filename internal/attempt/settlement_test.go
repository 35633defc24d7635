package attempt

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/internal/store"
)

// A settlement in a bundle names its schema. One of an earlier deed, which names none, is read; one of a later deed is not.
func TestSettlementDocument(t *testing.T) {
	t.Parallel()
	want := store.Settlement{Status: agentruntime.TaskCompleted, LastError: "x", Verdict: json.RawMessage("{}"), Attempt: agentruntime.TaskAttempt{AttemptID: "a"}}
	for name, c := range map[string]struct {
		doc any
		err string
	}{
		"of this deed":     {settlementDoc{Schema: schemaSettlement, Settlement: &want}, ""},
		"of an earlier":    {want, ""},
		"of another":       {settlementDoc{Schema: "deed/settlement/v2", Settlement: &want}, "deed/settlement/v2"},
		"of nobody at all": {[]int{1}, "cannot unmarshal"},
	} {
		dir := t.TempDir()
		data, err := json.Marshal(c.doc)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, pathSettlement)
		if err := os.Mkdir(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := readSettlement(dir)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

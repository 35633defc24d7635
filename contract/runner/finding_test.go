package runner

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFindingKeepsEveryKey(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"id":"a.php::Rule::3","message":"m"}`,
		`{"message":"m","file":"a.go","line":3,"column":2,"fixable":true,"excerpt":{"a":[1,2.50]},"zeta":null}`,
		`{"message":"","source":{"kind":"x"}}`,
	} {
		var f LintFinding
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		got, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Error(diff)
		}
	}
}

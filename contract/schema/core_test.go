package schema

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/homeboy"
)

// The exported contract is what was published, byte for byte. A change of it is a change of the contract: whoever means
// it runs `go test ./contract/schema -run CoreContract -update` and says so. (Case 117.)
func TestCoreContractIsWhatWasPublished(t *testing.T) {
	t.Parallel()
	got, err := CoreContract()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join("testdata", "homeboy-agent-task-core-contract.json")
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("the contract changed:\n%s", cmp.Diff(string(want), string(got)))
	}
}

// Sorted keys, two spaces, one line end at the end: a generic program that writes it again gets the same bytes.
func TestCoreContractIsCanonical(t *testing.T) {
	t.Parallel()
	got, err := CoreContract()
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	enc := json.NewEncoder(&again)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(generic(t, got)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, again.Bytes()) {
		t.Error("the document is not canonical")
	}
}

// Every schema id that the package names is exported: the constants are read from its source.
func TestCoreContractNamesEverySchema(t *testing.T) {
	t.Parallel()
	exported := slices.Sorted(maps.Values(homeboy.SchemaNames()))
	var declared []string
	files, err := filepath.Glob(filepath.Join("..", "homeboy", "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(v.Names[0].Name, "Schema") && len(v.Values) == 1 {
				if lit, ok := v.Values[0].(*ast.BasicLit); ok {
					id, err := strconv.Unquote(lit.Value)
					if err != nil {
						t.Error(err)
					}
					declared = append(declared, id)
				}
			}
			return true
		})
	}
	slices.Sort(declared)
	if diff := cmp.Diff(declared, exported); diff != "" {
		t.Errorf("declared and exported differ:\n%s", diff)
	}
}

// The bridge is exported whole, and the six schemas of the fanout are published.
func TestCoreContractHoldsTheFanoutOverlay(t *testing.T) {
	t.Parallel()
	data, err := CoreContract()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Published     []string            `json:"published_schemas"`
		Enums         map[string][]string `json:"enums"`
		Orchestration struct {
			Bridge  map[string]string `json:"agent_task_outcome_to_fanout_record_status"`
			Success []string          `json:"fanout_success_statuses"`
		} `json:"orchestration"`
		Records map[string]struct {
			Fields []struct {
				Name string `json:"name"`
			} `json:"fields"`
		} `json:"records"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{
		"homeboy/generic-fanout-reconcile-config/v1", "homeboy/fanout-reconcile-plan/v1", "homeboy/fanout-reconcile-run/v1",
		"homeboy/generic-fanout-reconcile-result/v1", "homeboy/generic-fanout-reconcile-reconciliation/v1", "homeboy/generic-finding-packet-fanout-config/v1",
	} {
		if !slices.Contains(doc.Published, id) || len(doc.Records[id].Fields) == 0 {
			t.Errorf("%s is not in the contract", id)
		}
	}
	for _, status := range doc.Enums["outcome_status"] {
		if !slices.Contains(doc.Enums["fanout_record_status"], doc.Orchestration.Bridge[status]) {
			t.Errorf("%s has no record status: %q", status, doc.Orchestration.Bridge[status])
		}
	}
	if len(doc.Orchestration.Bridge) != len(doc.Enums["outcome_status"]) || !slices.Equal(doc.Orchestration.Success, []string{"completed", "success", "passed"}) {
		t.Errorf("%+v", doc.Orchestration)
	}
}

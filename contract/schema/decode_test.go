package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
)

// A record that was refused must not be usable by accident.
func TestDecodeReturnsNothingWithFaults(t *testing.T) {
	t.Parallel()
	v, err := Decode[agentruntime.TaskIntent](agentruntime.SchemaTaskIntent, []byte(`{"task_type":"a","source":"b","payload":{},"x":1}`))
	if err == nil || v.TaskType != "" {
		t.Errorf("%+v, %v", v, err)
	}
	var fs fault.Faults
	if !errors.As(fmt.Errorf("add task: %w", err), &fs) || len(fs) != 1 {
		t.Errorf("the faults are not found through a wrapper: %v", err)
	}
}

// The decoded payload must not change when the caller uses its buffer again.
func TestDecodeKeepsItsOwnBytes(t *testing.T) {
	t.Parallel()
	data := []byte(`{"task_type":"a","source":"b","payload":{"n":12345678901234567890}}`)
	v, err := Decode[agentruntime.TaskIntent](agentruntime.SchemaTaskIntent, data)
	if err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = '!'
	}
	if v.TaskType != "a" || string(v.Payload) != `{"n":12345678901234567890}` {
		t.Errorf("%s %s", v.TaskType, v.Payload)
	}
}

type local struct {
	Schema string         `json:"schema,omitempty"`
	Count  int32          `json:"count" jsonschema:"minimum=2"`
	Wait   jsonSeconds    `json:"wait,omitempty"`
	Any    any            `json:"any,omitempty"`
	Self   []local        `json:"self,omitempty"`
	Marks  map[string]int `json:"marks,omitempty"`
}

// jsonSeconds has its own way to be read.
type jsonSeconds int

func (s *jsonSeconds) UnmarshalJSON(data []byte) error {
	var n int
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	*s = jsonSeconds(n * 1000)
	return nil
}

// Types outside the catalog, such as a later package's own, are read by the same rules.
func TestDecodeOfAnUnpublishedType(t *testing.T) {
	t.Parallel()
	v, err := Decode[local]("app/local/v1", []byte(`{"schema":"app/local/v1","count":3,"wait":2,"any":[1,null],"self":[{"count":2,"self":[{"count":9}]}],"marks":{"a.b":1}}`))
	if err != nil || v.Wait != 2000 || v.Self[0].Self[0].Count != 9 || v.Marks["a.b"] != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	_, err = Decode[local]("app/local/v1", []byte(`{"schema":"app/local/v2","count":1,"wait":"x","self":[{"cuont":2}],"marks":{"a.b":"1"}}`))
	want := []string{"out_of_range $.count", "wrong_type $.wait", "unknown_field $.self[0].cuont", "missing_field $.self[0].count", `wrong_type $.marks["a.b"]`, "wrong_schema $.schema"}
	if got := paths(err); !slices.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
	_, err = Decode[local]("", []byte(`{"count":2147483648}`))
	if got := paths(err); !slices.Equal(got, []string{"out_of_range $.count"}) {
		t.Errorf("%v", got)
	}
}

func TestDecodeHostileNesting(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		strings.Repeat("[", 1_000_000),
		`{"task_type":"a","source":"b","payload":` + strings.Repeat(`{"a":`, 200_000) + "1" + strings.Repeat("}", 200_000) + "}",
	} {
		_, err := Decode[agentruntime.TaskIntent](agentruntime.SchemaTaskIntent, []byte(doc))
		if fs := fault.Of(err); len(fs) == 0 || fs[len(fs)-1].Code != fault.InvalidJSON && fs[len(fs)-1].Code != fault.WrongType {
			t.Errorf("%.200v", err)
		}
	}
}

// A payload with very many names is read in time that grows with its size, not with its square.
func TestDecodeManyNames(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString(`{"task_type":"a","source":"b","payload":{`)
	for i := range 100_000 {
		fmt.Fprintf(&b, `"k%d":%d,`, i, i)
	}
	b.WriteString(`"k99999":0}}`)
	_, err := Decode[agentruntime.TaskIntent](agentruntime.SchemaTaskIntent, []byte(b.String()))
	if got := paths(err); !slices.Equal(got, []string{"duplicate_key $.payload.k99999"}) {
		t.Errorf("%v", got)
	}
}

func TestDecodeConcurrently(t *testing.T) {
	t.Parallel()
	docs := fixtures(t, "valid")
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for _, d := range docs {
				if err := Validate(d.record.ID, d.data); err != nil {
					t.Errorf("%s: %v", d.name, err)
				}
			}
		})
	}
	wg.Wait()
}

var (
	tsExport     = regexp.MustCompile(`(?m)^export type ([A-Za-z]+) = `)
	tsComment    = regexp.MustCompile(`(?s)/\*\*.*?\*/|//[^\n]*`)
	tsLiteral    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	tsMember     = regexp.MustCompile(`(?m)^\s+([A-Za-z_][A-Za-z0-9_]*)\??: `)
	tsIdentifier = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)
)

// The types are one exported declaration for each name; everything that they refer to is declared.
func TestTypeScriptIsClosed(t *testing.T) {
	t.Parallel()
	src, err := TypeScript()
	if err != nil {
		t.Fatal(err)
	}
	code := tsComment.ReplaceAllString(string(src), "")
	declared := map[string]bool{}
	for _, m := range tsExport.FindAllStringSubmatch(code, -1) {
		if declared[m[1]] {
			t.Errorf("%s is declared twice", m[1])
		}
		declared[m[1]] = true
	}
	for _, id := range IDs() {
		if !strings.Contains(code, `"`+id+`": `) {
			t.Errorf("%s is not in Records", id)
		}
	}
	for _, want := range []string{
		`export type AdapterConfig = ClaudeCodeAdapter | CodexAdapter | HermesAgentAdapter | OllamaGenerateAdapter | ScriptAdapter | ACPAdapter | CommandAdapter | NativeAdapter | OpencodeAdapter | PackagedAdapter;`,
		"  subject: string | null;", "  subject?: string;", "  payload: Record<string, unknown>;", `  kind: "ollama-generate";`,
		"  outcome: TaskOutcome | null;", "  follow_up_tasks?: TaskIntent[];", "  env?: Record<string, string>;", "  context: Record<string, unknown> | null;",
		`  artifact_roles?: ("plan" | "execute-report" | "verify-report" | "output" | "snapshot" | "adapter-audit")[];`,
	} {
		if !strings.Contains(code, want) {
			t.Errorf("there is no %s", want)
		}
	}
	bare := tsLiteral.ReplaceAllString(code, "0")
	if strings.Count(bare, "{") != strings.Count(bare, "}") || strings.Count(bare, "(") != strings.Count(bare, ")") {
		t.Error("brackets do not balance")
	}
	known := []string{"export", "type", "string", "number", "boolean", "null", "unknown", "Record"}
	for _, word := range tsIdentifier.FindAllString(tsMember.ReplaceAllString(bare, " "), -1) {
		if !declared[word] && !slices.Contains(known, word) {
			t.Errorf("%s is not declared", word)
		}
	}
}

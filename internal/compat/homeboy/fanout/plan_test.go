package fanout_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
)

// config reads a configuration as a user writes it.
func config(t *testing.T, text string) homeboy.FanoutConfig {
	t.Helper()
	c, _, err := homeboy.ReadFanoutConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func plan(t *testing.T, text string) homeboy.FanoutPlan {
	t.Helper()
	p, err := fanout.Plan(config(t, text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// written returns a record as JSON.
func written(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// faults returns the codes and places of an error.
func faults(err error) []string {
	var out []string
	for _, f := range fault.Of(err) {
		out = append(out, f.Code+" "+f.Path)
	}
	return out
}

func TestTemplates(t *testing.T) {
	t.Parallel()
	const items = `[{"id":"a","n":1.50,"tags":["x","y"],"none":null,"yes":true,"deep":{"list":[{"k":"v"}]},"packet_id":"p"},{"key":"b","packet_id":"p"},7]`
	for template, want := range map[string]string{ // case 111
		`"plain"`:                               `"plain"`,
		`"{{group.key}}"`:                       `"default"`,
		`"{{ group.item_count }}"`:              `3`,
		`"{{group.item_ids}}"`:                  `["a","b","3"]`,
		`"{{group.finding_ids}}"`:               `["a","2","3"]`,
		`"{{group.packet_ids}}"`:                `["p"]`,
		`"{{group.items.0.n}}"`:                 `1.50`,
		`"{{group.items.0.tags}}"`:              `["x","y"]`,
		`"{{group.items.0.tags.1}}"`:            `"y"`,
		`"{{group.items.0.tags.01}}"`:           ``,
		`"{{group.items.0.tags.-1}}"`:           ``,
		`"{{group.items.0.tags.length}}"`:       `2`,
		`"{{group.items.length}}"`:              `3`,
		`"{{group.items.0.deep.list.0.k}}"`:     `"v"`,
		`"{{group.items.2.value}}"`:             `7`,
		`"{{group.items.2.index}}"`:             `2`,
		`"{{group.items.1}}"`:                   `{"key":"b","packet_id":"p","index":1}`,
		`"{{group.items.0.none}}"`:              `null`,
		`"{{group.items.9.id}}"`:                ``,
		`"{{nothing.here}}"`:                    ``,
		`"{{ }}"`:                               ``,
		`"{{}}"`:                                `"{{}}"`,
		`"{{group.key}"`:                        `"{{group.key}"`,
		`"{{a}b}}"`:                             `"{{a}b}}"`,
		`"{{{group.key}}}"`:                     `"}"`,
		`"{{}}{{group.key}}"`:                   `"{{}}default"`,
		`"<{{group.items.0.none}}>"`:            `"<>"`,
		`"<{{group.items.9}}>"`:                 `"<>"`,
		`"<{{group.items.0.yes}}>"`:             `"<true>"`,
		`"<{{group.items.0.n}}>"`:               `"<1.50>"`,
		`"<{{group.items.0.tags}}>"`:            `"<[\"x\",\"y\"]>"`,
		`"{{group.key}}/{{group.items.0.id}}"`:  `"default/a"`,
		`"{{orchestrator.run_id}}"`:             `"r"`,
		`"{{orchestrator}}"`:                    `{"run_id":"r"}`,
		`"{{config.custom.a}}"`:                 `"{{group.key}}"`, // what comes out is not looked at again
		`["{{group.items.9}}","{{group.key}}"]`: `[null,"default"]`,
		`{"a":"{{group.items.9}}","{{b}}":{"c":["{{group.index}}"]}}`: `{"{{b}}":{"c":[0]}}`,
		`5`:     `5`,
		`null`:  `null`,
		`false`: `false`,
	} {
		c := fmt.Sprintf(`{"orchestrator":{"run_id":"r"},"custom":{"a":"{{group.key}}"},"group_key_path":"-","items":%s,"task_request_template":{"x":%s}}`, strings.ReplaceAll(items, `"id":"a"`, `"id":"a"`), template)
		cfg := config(t, c)
		cfg.Items = nil
		cfg.Groups = []homeboy.FanoutGroup{{Key: "default", Items: itemsOf(t, items)}}
		p, err := fanout.Plan(cfg, nil)
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		if got := string(p.TaskRequests[0].Extra["x"]); got != want {
			t.Errorf("%s renders to %s, want %s", template, got, want)
		}
	}
}

func itemsOf(t *testing.T, text string) []homeboy.Value {
	t.Helper()
	var out []homeboy.Value
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGroups(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ config, want string }{ // case 112
		{`{"items":[{"group_key":"b"},{"group_key":" a "},{"group_key":"b"},{"groupKey":"c"},{"kind":"d"},{"id":5},{},"text",null,[1],{"group_key":true}]}`, "b:2 a:1 c:1 d:1 5:1 default:5"},
		{`{"group_by":"meta.team","items":[{"meta":{"team":"x"}},{"meta":{"team":1.0}},{"meta":{}}]}`, "x:1 1:1 default:1"},
		{`{"groups":[{"key":"k","items":[1,2]},{"group_key":"g"},{"id":"i"},{}]}`, "k:2 g:0 i:0 group-4:0"},
		{`{}`, ""},
	} {
		var got []string
		for i, g := range plan(t, tc.config).Groups {
			if int(g.Index) != i {
				t.Errorf("%s: group %d has the index %d", tc.config, i, g.Index)
			}
			got = append(got, fmt.Sprintf("%s:%d", g.Key, g.ItemCount))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v, want %s", tc.config, got, tc.want)
		}
	}
}

func TestItemsGetTheirIndex(t *testing.T) {
	t.Parallel()
	p := plan(t, `{"groups":[{"key":"k","team":"x","items":[{},{"index":"mine","a":1},"s",null,{"a":{"index":3}}]}],"task_request_template":{"all":"{{group.items}}","team":"{{group.team}}"}}`)
	want := `[{"index":0},{"index":1,"a":1},{"value":"s","index":2},{"value":null,"index":3},{"a":{"index":3},"index":4}]`
	if got := string(p.TaskRequests[0].Extra["all"]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := string(p.TaskRequests[0].Extra["team"]); got != `"x"` {
		t.Errorf("an explicit group lost its member: %s", got)
	}
}

// Of a name that is there twice the last counts, in small objects and in large ones.
func TestNamesThatAreThereTwice(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 14, 15, 16, 17, 60} {
		var names strings.Builder
		for i := range n {
			fmt.Fprintf(&names, `"m%d":%d,`, i, i)
		}
		item := `{"a":"first",` + names.String() + `"a":"last","z":1,"z":2}`
		p, err := fanout.Plan(config(t, `{"task_request_template":{"a":"{{group.items.0.a}}","z":"{{group.items.0.z}}"}}`), []homeboy.Value{homeboy.Value(item)})
		if err != nil {
			t.Fatal(err)
		}
		if x := p.TaskRequests[0].Extra; string(x["a"]) != `"last"` || string(x["z"]) != "2" {
			t.Errorf("with %d members more: %s", n, written(t, x))
		}
	}
}

func TestPlanDocument(t *testing.T) {
	t.Parallel()
	p := plan(t, `{"schema":"own/config","orchestrator":{"id":"o","plan_id":"P 1"},"summary":{"item_count":99,"note":"n"},"runtime":{"kind":"bundle","key":"{{group.key}}"},
		"plan_schema":"own/plan","items":[{"group_key":"a b/ü"}],"task_request_template":{"instructions":"fix {{group.key}}","orchestrator":{"lane":"{{group.index}}"}}}`)
	want := `{"schema":"own/plan","orchestrator":{"id":"o","plan_id":"P 1"},"summary":{"config_schema":"own/config","group_count":1,"item_count":1,"note":"n","task_count":1},` +
		`"groups":[{"key":"a b/ü","index":0,"item_count":1}],"task_requests":[{"id":"P-1-a-b-","group_key":"a b/ü","orchestrator":{"group_index":0,"id":"o","lane":0,"plan_id":"P 1"},` +
		`"runtime_execution":{"key":"a b/ü","kind":"bundle"},"instructions":"fix a b/ü"}],` +
		`"reconciliation":{"schema":"homeboy/generic-fanout-reconcile-reconciliation/v1","group_count":1,"task_count":1,"record_count":0,"success_count":0,"failure_count":0,"outcome_count":0,"failed_task_ids":[]}}`
	if diff := cmp.Diff(want, written(t, p)); diff != "" {
		t.Error(diff)
	}
	empty := plan(t, `{}`)
	if err := empty.Validate(); err != nil {
		t.Error(err)
	}
	if got := written(t, empty); !strings.Contains(got, `"orchestrator":{}`) || !strings.Contains(got, `"task_requests":[]`) {
		t.Error(got)
	}
}

func TestIDs(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ template, want string }{
		{`{}`, "fanout-a-b fanout-a-b-ceaedf03 fanout-c"},
		{`{"id":"{{group.items.0.nothing}}","group_key":" ","task_id":null}`, "fanout-a-b fanout-a-b-ceaedf03 fanout-c"}, // a blank one removes nothing
		{`{"id":"x-{{group.index}}"}`, "x-0 x-1 x-2"},
		{`{"id":"{{group.index}}"}`, "0 1 2"},
		{`{"task_id":"t-{{group.index}}","id":"same"}`, "t-0 t-1 t-2"},
	} {
		p := plan(t, `{"items":[{"id":"a b"},{"id":"a/b"},{"id":"c"}],"task_request_template":`+tc.template+`}`)
		var got []string
		for i, task := range p.TaskRequests {
			got = append(got, task.Name())
			if task.GroupKey != p.Groups[i].Key {
				t.Errorf("%s: group key %q", tc.template, task.GroupKey)
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v, want %s", tc.template, got, tc.want)
		}
	}
	long := plan(t, `{"items":[{"id":"`+strings.Repeat("x", 300)+`1"},{"id":"`+strings.Repeat("x", 300)+`2"}]}`)
	if a, b := long.TaskRequests[0].ID, long.TaskRequests[1].ID; a == b || len(a) > 120 || len(b) > 120 {
		t.Errorf("%q, %q", a, b)
	}
}

func TestFaultsOfAPlanAllAtOnce(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{ // case 108
		`{"items":[{"id":"a"},{"id":"b"},{"id":"c"}],"task_request_template":{"id":"one"}}`: {
			"duplicate $.task_requests[1].id", "duplicate $.task_requests[2].id",
		},
		`{"items":[{"id":"a"},{"id":"b"}],"task_request_template":{"id":"{{group.items}}","orchestrator":"{{group.key}}"}}`: {
			"wrong_type $.task_request_template.id", "wrong_type $.task_request_template.orchestrator",
			"wrong_type $.task_request_template.id", "wrong_type $.task_request_template.orchestrator",
		},
		`{"base_run":{"status":"completed","ok":1},"success_statuses":["green","failed"],"items":[1],"groups":[{"key":"a"}]}`: {
			"conflict $.items", "conflict $.base_run.status", "not_allowed $.success_statuses[1]",
		},
		`{"items":[1],"task_request_template":{"x":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}}`: {"bad_format $.task_request_template.x"},
	} {
		_, err := fanout.Plan(config(t, text), nil)
		if diff := cmp.Diff(want, faults(err)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestATemplateIsBounded(t *testing.T) {
	t.Parallel()
	item := homeboy.Value(`"` + strings.Repeat("x", 1<<20) + `"`)
	c := config(t, `{"task_request_template":{"x":[`+strings.Repeat(`"{{group.items}}",`, 40)+`"and {{group.items}}"]}}`)
	_, err := fanout.Plan(c, []homeboy.Value{item})
	if got := faults(err); len(got) != 1 || got[0] != "bad_format $.task_request_template.x" {
		t.Error(got)
	}
}

func TestCheckTakesPlansOfOthers(t *testing.T) {
	t.Parallel()
	p, _, err := homeboy.ReadFanoutPlan([]byte(`{"schema":"own/plan","orchestrator":{},"groups":[],"task_requests":[{"id":"a"},{"id":" "},{"task_id":"a"}],"reconciliation":{"schema":"own/counts"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"blank $.task_requests[1].id", "duplicate $.task_requests[2].id"}, faults(fanout.Check(p))); diff != "" { // case 108
		t.Error(diff)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	p := plan(t, `{"orchestrator":{"plan_id":"P"},"executor":{"backend":"b","config":{"k":1}},"items":[{"id":"a"}],"task_request_template":{"instructions":"do {{group.key}}","inputs":{"all":"{{group.items}}"},"custom":1}}`)
	got, err := fanout.Requests(p, fanout.Defaults{Executor: homeboy.Executor{Backend: "other", Model: "m", Config: map[string]homeboy.Value{"k": homeboy.Value("2"), "j": homeboy.Value("3")}}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"schema":"homeboy/agent-task-request/v1","task_id":"P-a","group_key":"a","parent_plan_id":"P","executor":{"backend":"b","model":"m","config":{"j":3,"k":1}},` +
		`"instructions":"do a","inputs":{"all":[{"id":"a","index":0}]},"custom":1,"orchestrator":{"group_index":0,"plan_id":"P"}}`
	if diff := cmp.Diff(want, written(t, got[0].Request)); diff != "" {
		t.Error(diff)
	}
	bare := plan(t, `{"runtime_execution":{"kind":"bundle"},"items":[{"id":"a"},{"id":"b"}]}`)
	_, err = fanout.Requests(bare, fanout.Defaults{})
	want2 := []string{
		"blank $.task_requests[0].executor.backend", "blank $.task_requests[0].instructions",
		"blank $.task_requests[1].executor.backend", "blank $.task_requests[1].instructions",
	}
	if diff := cmp.Diff(want2, faults(err)); diff != "" {
		t.Error(diff)
	}
	all, err := fanout.Requests(bare, fanout.Defaults{Executor: homeboy.Executor{Backend: "b"}, Instructions: "go"})
	if err != nil || string(all[1].Request.Extra["runtime_execution"]) != `{"kind":"bundle"}` {
		t.Errorf("%+v, %v", all, err)
	}
}

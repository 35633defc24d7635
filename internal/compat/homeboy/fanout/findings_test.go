package fanout_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/contract/runner"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
)

func findingPlan(t *testing.T, text string) homeboy.FanoutPlan {
	t.Helper()
	c, _, err := homeboy.ReadFindingFanoutConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := fanout.PlanFindings(c)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// show returns the items of each task of a plan of findings.
func show(t *testing.T, p homeboy.FanoutPlan) string {
	t.Helper()
	var out []string
	for _, task := range p.TaskRequests {
		var ids []string
		if err := json.Unmarshal(task.Extra["item_ids"], &ids); err != nil {
			t.Fatal(err)
		}
		out = append(out, fmt.Sprintf("%s[%s]%s", task.ID, task.GroupKey, strings.Join(ids, ",")))
	}
	return strings.Join(out, " ")
}

func TestFindingPackets(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, config, want string }{ // case 116
		{
			"the three forms", `{"packets":[{"id":"p","findings":[{"id":"f","type":"t","severity":"s"}]},{"packet_id":"q","diagnostics":[{"code":"c"}]},{"key":"k","finding":{"rule_id":"r"}},{"finding":5},{}]}`,
			"finding-packet-t-s[t:s]p:f finding-packet-default[default]q:c,k:r",
		},
		{"ids that are not there", `{"packets":[{"findings":[{},{"finding_id":"x"},"text"]}]}`, "finding-packet-default[default]packet-1:finding-1,packet-1:x,packet-1:finding-3"},
		{"paths", `{"packets":[{"team":"a","findings":[{"id":1,"path":"x"},{"id":2}]}],"finding_policy":{"group_by":["packet.team","finding.path"]}}`, "finding-packet-a-x[a:x]packet-1:1 finding-packet-a[a]packet-1:2"},
		{"a template", `{"packets":[{"findings":[{"id":1,"line":7},{"id":2}]}],"finding_policy":{"groupKeyTemplate":"{{finding.line}}","fallback_group_key":"else"}}`, "finding-packet-7[7]packet-1:1 finding-packet-else[else]packet-1:2"},
		{"other places", `{"finding_packets":[{"meta":{"n":"P"},"out":{"list":[{"k":{"id":"F"}}]}}],"finding_policy":{"packet_id_path":"meta.n","findings_path":"out.list","finding_id_path":"k.id"}}`, "finding-packet-default[default]P:F"},
		{"a configured path that is no list", `{"packets":[{"out":5,"findings":[{"id":"f"}]}],"finding_policy":{"findings_path":"out"}}`, "finding-packet-default[default]packet-1:f"},
		{"keys that look alike", `{"packets":[{"findings":[{"id":1,"type":"a/b"},{"id":2,"type":"a b"}]}]}`, "finding-packet-a-b[a/b]packet-1:1 finding-packet-a-b-c6f0c504[a b]packet-1:2"},
		{"nothing", `{"packets":[]}`, ""},
	} {
		if got := show(t, findingPlan(t, tc.config)); got != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.name, got, tc.want)
		}
	}
}

func TestFindingPlanDocument(t *testing.T) {
	t.Parallel()
	p := findingPlan(t, `{"packets":[{"id":"p","findings":[{"id":"f","rule_id":"r","file":"a.go","description":"d","severity":"warning"}]}],"finding_policy":{"include_packet":false},"summary":{"finding_count":9}}`)
	want := `{"id":"finding-packet-warning","group_key":"warning","orchestrator":{"group_index":0},"finding_count":1,` +
		`"inputs":{"findings":[{"id":"p:f","packet_id":"p","finding_id":"f","index":0,"packet_index":0,"group_key":"warning","type":"r","severity":"warning","path":"a.go","message":"d","finding":{"id":"f","rule_id":"r","file":"a.go","description":"d","severity":"warning"}}]},` +
		`"item_ids":["p:f"],"packet_ids":["p"]}`
	if diff := cmp.Diff(want, written(t, p.TaskRequests[0])); diff != "" {
		t.Error(diff)
	}
	want = `{"config_schema":"homeboy/generic-finding-packet-fanout-config/v1","finding_count":1,"group_count":1,"grouping":{"strategy":"paths","paths":["finding.type","finding.severity"]},"item_count":1,"packet_count":1,"task_count":1}`
	if diff := cmp.Diff(want, written(t, p.Summary)); diff != "" {
		t.Error(diff)
	}
	if err := p.Validate(); err != nil {
		t.Error(err)
	}
	whole := findingPlan(t, `{"packets":[{"id":"p","findings":[{"id":"f"}]}],"task_request_template":{"id":"mine-{{group.index}}","of":"{{group.items.0.packet.id}}"}}`)
	if task := whole.TaskRequests[0]; task.ID != "mine-0" || string(task.Extra["of"]) != `"p"` {
		t.Errorf("%s", written(t, task))
	}
}

func report(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPacketsOfReports(t *testing.T) {
	t.Parallel()
	lint := runner.Report{
		Schema: runner.SchemaReport, Capability: runner.Lint, Component: "app",
		LintFindings: []runner.LintFinding{{ID: "tool-id", Fingerprint: "f1", Rule: "no-x", Severity: "error", File: "a.js", Line: 3, Message: "no x", Extra: map[string]json.RawMessage{"help": json.RawMessage(`"h"`)}}, {Fingerprint: "f2", Category: "style", Message: "m", Known: true}},
	}
	tests := runner.Report{Schema: runner.SchemaReport, Capability: runner.Test, Component: "app", Failures: []runner.TestFailure{{TestName: "T1", TestFile: "a_test.go", Message: "boom"}}}
	named := runner.Report{Schema: runner.SchemaReport, Capability: runner.Test, Component: "app", FailedTests: []runner.FailedTest{{Name: "T2", Location: "b_test.go:7"}}}
	build := runner.Report{Schema: runner.SchemaReport, Capability: runner.Build, Component: "app", Failure: &runner.Failure{Category: runner.CategoryFindings, Summary: "does not compile"}}
	audit := runner.AuditReport{Schema: runner.SchemaAudit, ComponentID: "app", Findings: []runner.AuditFinding{{Kind: "broken_doc_reference", Severity: "warning", File: "README.md", Description: "gone", Identity: "i1"}}}
	both := runner.Verification{Schema: runner.SchemaVerification, Phases: []runner.VerifiedPhase{{Report: &lint}, {Audit: &audit}, {}}}
	sarif := []byte(`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"s"}},"results":[{"ruleId":"R","level":"error","message":{"text":"bad"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"x.c"},"region":{"startLine":2}}}]}]}]}`)
	for name, tc := range map[string]struct {
		data  []byte
		fresh bool
		want  string
	}{
		"lint":          {report(t, lint), false, "app:lint:f1/no-x/a.js app:lint:f2/style/"},
		"new ones":      {report(t, lint), true, "app:lint:f1/no-x/a.js"},
		"enveloped":     {report(t, runner.Envelope[runner.Report]{Data: &lint}), false, "app:lint:f1/no-x/a.js app:lint:f2/style/"},
		"tests":         {report(t, tests), false, "app:test:T1/test_failure/a_test.go"},
		"tests by name": {report(t, named), false, "app:test:T2/test_failure/b_test.go"},
		"build":         {report(t, build), false, "app:build:build/build_failure/"},
		"audit":         {report(t, audit), false, "app:audit:i1/broken_doc_reference/README.md"},
		"verification":  {report(t, both), false, "app:lint:f1/no-x/a.js app:lint:f2/style/ app:audit:i1/broken_doc_reference/README.md"},
		"array":         {[]byte(`[{"message":"m","rule":"r","file":"f.go","id":"i"}]`), false, "findings:i/r/f.go"},
		"sarif":         {sarif, false, "sarif:R/x.c"},
		"nothing found": {report(t, runner.Report{Schema: runner.SchemaReport, Capability: runner.Lint, Component: "app", Passed: true}), false, ""},
	} {
		packets, err := fanout.Packets(tc.data, tc.fresh)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := fanout.PlanFindings(homeboy.FindingFanoutConfig{Packets: packets, FindingPolicy: &homeboy.FindingPolicy{FallbackGroupKey: "all", GroupBy: homeboy.Texts{"finding.none"}}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var got []string
		for _, task := range p.TaskRequests {
			var in struct {
				Findings []struct {
					ID, Type, Path string
					Finding        map[string]any
				}
			}
			if err := json.Unmarshal(task.Extra["inputs"], &in); err != nil {
				t.Fatal(err)
			}
			for _, f := range in.Findings {
				id := f.ID
				if name == "sarif" { // its id is a digest
					id, _, _ = strings.Cut(id, ":")
					id += ":" + f.Type
					got = append(got, id+"/"+f.Path)
					continue
				}
				got = append(got, id+"/"+f.Type+"/"+f.Path)
				if f.Type == "no-x" && (f.Finding["help"] != "h" || f.Finding["line"] != 3.0) {
					t.Errorf("%s: the finding lost members: %v", name, f.Finding)
				}
			}
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%s: %v, want %s", name, got, tc.want)
		}
	}
}

func TestPacketsRefuseWhatIsNoReport(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" \n": "is empty",
		`{"success":false,"error":{"code":"x","message":"eslint is missing"}}`: "has no report: eslint is missing",
		`{"success":true,"data":[]}`:                                                       "no report",
		`{"schema":"deed/check.report/v1","summary":{"total_findings":3}}`:                 "is a summary",
		`{"schema":"deed/check.report/v1","passed":false,"phase":{"summary":"timed out"}}`: "did not pass and has no findings: timed out",
		`{"schema":"deed/verify.report/v9"}`:                                               "is not the schema of a report",
		`{"a":1}`:                                                                          "names no schema",
		`{"schema":`:                                                                       "is not JSON",
		`[{"rule":"no message"}]`:                                                          "message",
		`{"schema":"deed/check.report/v1","lint_findings":5}`:                              "lint_findings",
		`{"success":false,"data":{"success":false,"data":{"success":false,"error":{"message":"deep"}}}}`: "has no report: deep",
	} {
		_, err := fanout.Packets([]byte(text), false)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzPlan(f *testing.F) {
	f.Add(`{"items":[{"id":"a"}],"task_request_template":{"id":"{{group.key}}","x":["{{group.items.0}} {{config}}"]}}`, `[1,{"a":{"index":2}}]`)
	f.Add(`{"groups":[{"key":"{{x}}"}],"orchestrator":{"run_id":1e400}}`, `[]`)
	f.Add(`{"task_request_template":{"id":"{{{group.key}}}{{","b":"{{ group.items.0.a.b }}}}"}}`, `[{"a":{"b":"\ud800"}},[],null]`)
	f.Fuzz(func(t *testing.T, configText, itemText string) {
		c, _, err := homeboy.ReadFanoutConfig([]byte(configText))
		if err != nil {
			return
		}
		var items []homeboy.Value
		_ = json.Unmarshal([]byte(itemText), &items)
		p, err := fanout.Plan(c, items)
		if err != nil {
			return
		}
		if err := fanout.Check(p); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatalf("a plan that cannot be written: %v", err)
		}
		again, _, err := homeboy.ReadFanoutPlan(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := fanout.Check(again); err != nil {
			t.Fatalf("other ids after writing and reading: %v", err)
		}
		res := fanout.Reconcile(again, nil, fanout.OptionsOf(c))
		if len(res.Records) != len(p.TaskRequests) {
			t.Fatalf("%d records of %d tasks", len(res.Records), len(p.TaskRequests))
		}
	})
}

func FuzzPackets(f *testing.F) {
	f.Add([]byte(`{"success":true,"data":{"schema":"deed/check.report/v1","lint_findings":[{"message":"m"}]}}`))
	f.Add([]byte(`[{"message":"m","id":"a:b:3"}]`))
	f.Add([]byte(`{"version":"2.1.0","runs":[{"results":[{"message":{"text":"x"}}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		packets, err := fanout.Packets(data, false)
		if err != nil {
			return
		}
		p, err := fanout.PlanFindings(homeboy.FindingFanoutConfig{Packets: packets})
		if err != nil {
			t.Fatalf("packets that make no plan: %v", err)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzReconcile(f *testing.F) {
	f.Add([]byte(`{"id":"fanout-a","status":"x","outcome":{"status":"succeeded"},"said":{"a":1}}`), "said.a")
	f.Add([]byte(`{"group_key":"a","success":true}`), "outcome.0")
	f.Fuzz(func(t *testing.T, data []byte, path string) {
		r, _, err := homeboy.ReadFanoutRecord(data)
		if err != nil {
			return
		}
		p, err := fanout.Plan(homeboy.FanoutConfig{}, []homeboy.Value{homeboy.Value(`{"id":"a"}`)})
		if err != nil {
			t.Fatal(err)
		}
		res := fanout.Reconcile(p, []homeboy.FanoutRecord{r}, fanout.Options{OutcomePath: path})
		if err := res.Validate(); err != nil {
			t.Fatal(err)
		}
		if _, err := json.Marshal(res); err != nil {
			t.Fatal(err)
		}
	})
}

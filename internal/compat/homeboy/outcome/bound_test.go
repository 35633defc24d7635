package outcome

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/homeboy"
)

func TestWritten(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `{"a":[1,2,{"b":"<&>\"\\"}],"c":null}`, `[[[[[1,1,1,1]]]]]`, "{\"a\":\"\u2028\u2029é\"}", `{ "a" : [ ] , "b" : true }`, `"x`, `[[`, `]`, "",
	} {
		n := written([]byte(text))
		var compact, out bytes.Buffer
		if json.Compact(&compact, []byte(text)) != nil {
			continue // it is only not to fail
		}
		json.HTMLEscape(&out, compact.Bytes())
		escaped := bytes.Clone(out.Bytes())
		out.Reset()
		if err := json.Indent(&out, escaped, "", "  "); err != nil {
			t.Fatal(err)
		}
		if n < out.Len() || n > 4*out.Len()+64 {
			t.Errorf("%s: %d bytes are told, and it has %d", text, n, out.Len())
		}
	}
}

// TestAnswersThatGrow: a short answer is not let become a long one. // edge cases 49, 66
func TestAnswersThatGrow(t *testing.T) {
	t.Parallel()
	deep := `{"metadata":{"a":` + strings.Repeat("[", 490) + strings.Repeat("1,", 60_000) + "1" + strings.Repeat("]", 490) + "}"
	one := homeboy.Value(`"` + strings.Repeat("x", 64<<10) + `"`)
	aliases := provider
	aliases.RoleAliases = &homeboy.RoleAliases{Outputs: map[string]homeboy.Texts{}, Metadata: map[string]homeboy.Texts{}}
	var listed []homeboy.Value
	for i := range 100 {
		aliases.RoleAliases.Outputs[fmt.Sprint("o", i)] = homeboy.Texts{"one"}
		aliases.RoleAliases.Metadata[fmt.Sprint("m", i)] = homeboy.Texts{"one"}
		listed = append(listed, value(map[string]string{"name": fmt.Sprint("t", i), "path": "outputs.one"}))
	}
	aliases.RuntimeContract = value(map[string]any{"normalization": map[string]any{"output_artifacts": listed}})
	for name, tc := range map[string]struct {
		p    homeboy.ExecutorProvider
		doc  string
		row  string
		most int
	}{
		"deep lists":        {provider, deep + `,"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded"}`, "too_large", 1 << 20},
		"deep, among text":  {provider, "log\n" + deep + `,"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded"}` + "\n", "too_large", 1 << 20},
		"deep, a failure":   {provider, deep + `,"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"failed"}`, "too_large", 1 << 20},
		"markup":            {provider, ok(`"metadata":{"a":"` + strings.Repeat("<", 9<<20) + `"}`), "too_large", 1 << 20},
		"names for outputs": {aliases, ok(`"outputs":{"one":` + string(one) + `},"metadata":{"one":` + string(one) + `}`), "valid", 6 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := Read(tc.p, request, printed(tc.doc, 0), nil)
			if a.Row != tc.row {
				t.Errorf("row %s, want %s", a.Row, tc.row)
			}
			out, err := json.MarshalIndent(a.Outcome, "", "  ")
			if err != nil || len(out) > tc.most || len(a.Said) > MaxWritten {
				t.Errorf("%d bytes are written, %d are kept as said, and at most %d are wanted: %v", len(out), len(a.Said), tc.most, err)
			}
			if err := a.Outcome.Validate(); err != nil {
				t.Error(err)
			}
			if a.Row == "too_large" && homeboy.IsSuccess(a.Outcome.Status) {
				t.Error("it is a success")
			}
		})
	}
}

// TestAnswersThatGrewAreGivenUp: the replacement for a secret can be longer than the secret.
func TestAnswersThatGrewAreGivenUp(t *testing.T) {
	t.Parallel()
	long := value(strings.Repeat("[REDACTED]", 1000))
	a := Answer{Row: rowValid, Outcome: homeboy.Outcome{Schema: homeboy.SchemaOutcome, TaskID: "t1", Status: homeboy.Succeeded, Metadata: homeboy.Value(`{"a":` + string(long) + `}`)}}
	a.bound(encode(a.Outcome), 4<<10)
	if o := a.Outcome; a.Row != "too_large" || o.Status != homeboy.ProviderError || o.TaskID != "t1" || o.Metadata != nil || o.Validate() != nil {
		t.Errorf("%s %+v %v", a.Row, o, o.Validate())
	}
}

func ok(members string) string {
	return `{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded",` + members + `}`
}

// TestListsWithoutEnd: what is listed is bounded, and so is what is reported of it.
func TestListsWithoutEnd(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	var artifacts, typed []string
	for i := range 3 * MaxListed {
		id := "deed-patch"
		if i > 0 {
			id += fmt.Sprintf("-%d", i+1)
		}
		artifacts = append(artifacts, fmt.Sprintf(`{"id":%q,"kind":"log","path":"none","metadata":{"artifact_provenance":1}}`, id))
		typed = append(typed, fmt.Sprintf(`{"name":"n%d","payload":1}`, i))
	}
	p := provider
	p.ResultContract = homeboy.Value(`{"typed_artifact_envelope":{"output":"env"}}`)
	a := s.gatherAll(p, request, printed(ok(`"artifacts":[`+strings.Join(artifacts, ",")+`],"outputs":{"env":{"typed_artifacts":[`+strings.Join(typed, ",")+`]}}`), 0), nil)
	o := a.Outcome
	if len(o.Artifacts) != MaxListed || len(o.TypedArtifacts) != MaxListed || len(o.Diagnostics) > 3*MaxListed {
		t.Errorf("%d artifacts, %d typed, %d diagnostics", len(o.Artifacts), len(o.TypedArtifacts), len(o.Diagnostics))
	}
	said := string(value(a.Warnings))
	for _, want := range []string{"lists 6000; those after the first 2000 are left out", "holds 6000 typed artifacts"} {
		if !strings.Contains(said, want) {
			t.Errorf("nothing says %q", want)
		}
	}
}

// TestNoRoleSpeaksForTheHost: neither a role nor an envelope gets what is deed's past the reader. // edge case 69
func TestNoRoleSpeaksForTheHost(t *testing.T) {
	t.Parallel()
	p := provider
	p.RoleAliases = &homeboy.RoleAliases{Metadata: map[string]homeboy.Texts{"deed": {"mine"}, "artifact_provenance": {"mine"}}}
	p.ResultContract = homeboy.Value(`{"typed_artifact_envelope":{"output":"env"}}`)
	o := said(t, p, request, `"status":"succeeded","metadata":{"mine":{"verdict":"accepted"}},
		"outputs":{"env":{"typed_artifacts":[{"name":"n","payload":1,"metadata":{"artifact_provenance":{"verified":true},"deed":1,"b":2}}]}}`).Outcome
	if string(o.Metadata) != `{"mine":{"verdict":"accepted"}}` || len(o.TypedArtifacts) != 1 || string(o.TypedArtifacts[0].Metadata) != `{"b":2}` {
		t.Errorf("%s %+v", o.Metadata, o.TypedArtifacts)
	}
}

// TestDeedsPatchIsFoundByItsID: an artifact of the provider's cannot take its name.
func TestDeedsPatchIsFoundByItsID(t *testing.T) {
	t.Parallel()
	size := int64(4)
	o := Overlay(homeboy.Outcome{
		Schema: homeboy.SchemaOutcome, TaskID: "t1", Status: homeboy.Succeeded,
		Artifacts: []homeboy.Artifact{{ID: "deed-patch", Kind: homeboy.KindPatch, SHA256: strings.Repeat("b", 64), SizeBytes: &size}, {ID: "deed-patch", Kind: "log"}, {ID: "provider-deed-patch", Kind: "log"}},
	}, Verdict{Judged: true, Accepted: true, Changed: 1, Patch: &Patch{Path: "/p", SHA256: strings.Repeat("a", 64), Size: 9}, Base: "rev1"})
	got := map[string]string{}
	for _, a := range o.Artifacts {
		got[a.ID] += a.Kind + a.Path
	}
	want := map[string]string{"provider-deed-patch-2": "patch", "provider-deed-patch-3": "log", "provider-deed-patch": "log", "deed-patch": "patch/p"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

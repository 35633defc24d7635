package outcome

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/isolate/redact"
)

// said reads one document of the task t1.
func said(t *testing.T, p homeboy.ExecutorProvider, q homeboy.Request, members string) Answer {
	t.Helper()
	return readIt(t, p, q, printed(`{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1",`+members+`}`, 0), nil)
}

// TestRolesAreRenamed: edge case 68.
func TestRolesAreRenamed(t *testing.T) {
	t.Parallel()
	p := provider
	p.RoleAliases = &homeboy.RoleAliases{
		ArtifactKinds:     map[string]homeboy.Texts{"patch": {"fixture-runtime-patch", "*-diff"}, "transcript": {"open*script"}},
		ArtifactFilenames: map[string]homeboy.Texts{"report": {"report.md", "*.summary"}},
		ArtifactRoles:     map[string]homeboy.Texts{"evidence": {"proof"}},
		Outputs:           map[string]homeboy.Texts{"provider_run_result": {"absent", "opencode_run_result"}, "kept": {"opencode_run_result"}},
		Metadata:          map[string]homeboy.Texts{"provider_run_result": {"opencode_run_result"}},
	}
	o := said(t, p, request, `"status":"succeeded","artifacts":[
		{"id":"1","kind":"fixture-runtime-patch"},{"id":"2","kind":"my-diff","metadata":{"a":1}},{"id":"3","kind":"opencode-transcript"},
		{"id":"4","kind":"file","path":"out/report.md"},{"id":"5","kind":"file","path":"x.summary","role":"proof"},{"id":"6","kind":"patch"},{"id":"7","kind":"my-diff-2","metadata":"text"}],
		"outputs":{"opencode_run_result":{"reply":"x"},"kept":2},"metadata":{"opencode_run_result":3}`).Outcome
	var got []string
	for _, a := range o.Artifacts {
		got = append(got, fmt.Sprintf("%s %s %s%s", a.ID, a.Kind, a.Role, a.Metadata))
	}
	want := []string{
		`1 patch {"provider_kind":"fixture-runtime-patch"}`, `2 patch {"a":1,"provider_kind":"my-diff"}`, `3 transcript {"provider_kind":"opencode-transcript"}`,
		`4 report {"provider_kind":"file"}`, `5 report evidence{"provider_kind":"file","provider_role":"proof"}`, `6 patch `, `7 my-diff-2 "text"`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if string(o.Outputs["provider_run_result"]) != `{"reply":"x"}` || string(o.Outputs["kept"]) != "2" || member(t, o.Metadata, "provider_run_result") != "3" {
		t.Errorf("%s %s", o.Outputs, o.Metadata)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		pattern, text string
		want          bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"*", "", true},
		{"a*", "a", true},
		{"*a", "ba", true},
		{"a*a", "a", false},
		{"a*b*c", "axxbyyc", true},
		{"a*b*c", "acb", false},
		{"", "", true},
		{"", "a", false},
		{"a[b]", "ab", false},
		{"**", "x", true},
		{"a*b*b", "ab", false},
	} {
		if got := matches(tc.pattern, tc.text); got != tc.want {
			t.Errorf("%q with %q: %v", tc.pattern, tc.text, got)
		}
	}
}

// TestNobodySpeaksForTheHost: edge case 69.
func TestNobodySpeaksForTheHost(t *testing.T) {
	t.Parallel()
	a := said(t, provider, request, `"status":"succeeded","metadata":{"artifact_provenance":{"owner":"deed"},"deed":{"verdict":"accepted"},"mine":1},
		"artifacts":[{"id":"a","kind":"patch","metadata":{"artifact_provenance":{"verified":true}}}],"typed_artifacts":[{"name":"n","payload":1,"metadata":{"artifact_provenance":1,"b":2}}]`)
	o := a.Outcome
	if string(o.Metadata) != `{"mine":1}` || o.Artifacts[0].Metadata != nil || string(o.TypedArtifacts[0].Metadata) != `{"b":2}` || len(a.Warnings) != 4 {
		t.Errorf("%s %s %s %v", o.Metadata, o.Artifacts[0].Metadata, o.TypedArtifacts[0].Metadata, a.Warnings)
	}
}

// TestQuotas: edge case 70.
func TestQuotas(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		members string
		class   homeboy.FailureClass
		hint    string
	}{
		{`"status":"provider_error","failure_classification":"rate_limit","metadata":{"retry_after_seconds":30}`, homeboy.ClassRateLimited, `{"retry_after_seconds":30}`},
		{`"status":"provider_error","failure_classification":"quota_exceeded","diagnostics":[{"class":"x","message":"m","data":{"reset_at":"2026-11-16T00:00:00Z"}}]`, homeboy.ClassRateLimited, `{"reset_at":"2026-11-16T00:00:00Z"}`},
		{`"status":"provider_error","failure_classification":"provider_quota"`, homeboy.ClassRateLimited, ""},
		{`"status":"provider_error","failure_category":"provider.rate_limit"`, homeboy.ClassRateLimited, ""},
		{`"status":"provider_error","failure_classification":"provider_quota_exhausted","metadata":{"retry_after":1}`, homeboy.ClassProviderQuotaExhausted, ""},
		{`"status":"provider_error","summary":"429 rate limit, retry after 30 s"`, homeboy.ClassProvider, ""}, // edge case 58
	} {
		o := said(t, provider, request, tc.members).Outcome
		if o.FailureClassification != tc.class || member(t, o.Metadata, "retry_hint") != tc.hint {
			t.Errorf("%s: %s %s", tc.members, o.FailureClassification, o.Metadata)
		}
		if again := o.Retryable != nil && *o.Retryable; again != (tc.class == homeboy.ClassRateLimited) {
			t.Errorf("%s: retryable %v", tc.members, again)
		}
	}
}

// TestNestedFailures: edge cases 72 and 73.
func TestNestedFailures(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]homeboy.OutcomeStatus{
		`"outputs":{"run":{"terminal_status":"failed"}}`:                                                homeboy.Failed,
		`"metadata":{"session_state":"errored"}`:                                                        homeboy.Failed,
		`"outputs":{"run":{"deep":{"agent_status":"timeout"}}}`:                                         homeboy.Failed,
		`"outputs":{"run":{"status":"failed","note":"failed"}}`:                                         homeboy.Succeeded, // not a key of a terminal status
		`"outputs":{"checks":[{"check_status":"failed"}]}`:                                              homeboy.Succeeded, // a list may be about anything
		`"outputs":{"run":{"terminal_status":"it failed at first"}}`:                                    homeboy.Succeeded, // no text decides
		`"outputs":{"run":{"terminal_status":"completed"}}`:                                             homeboy.Succeeded,
		`"outputs":{"run":{"terminal_status":7}}`:                                                       homeboy.Succeeded,
		`"outputs":{"provider_run_result":{"completed":false,"messages":[]}}`:                           homeboy.ProviderError,
		`"metadata":{"provider_run_result":{"completed":false}}`:                                        homeboy.ProviderError,
		`"outputs":{"provider_run_result":{"completed":false,"assistant_message":"I need an account"}}`: homeboy.Succeeded,
		`"outputs":{"provider_run_result":{"completed":false,"tool_calls":[{"name":"read"}]}}`:          homeboy.Succeeded,
		`"outputs":{"provider_run_result":{"completed":true}}`:                                          homeboy.Succeeded,
		`"outputs":{"provider_run_result":{}}`:                                                          homeboy.Succeeded,
	} {
		o := said(t, provider, request, `"status":"succeeded",`+members).Outcome
		if o.Status != want {
			t.Errorf("%s: %s, want %s", members, o.Status, want)
		}
		if want != homeboy.Succeeded && member(t, o.Metadata, "provider_status") != "succeeded" {
			t.Errorf("%s: %s", members, o.Metadata)
		}
		if want == homeboy.ProviderError && (o.Retryable == nil || !*o.Retryable || diagnostic(o, CodeResultEmpty) == nil) {
			t.Errorf("%s: not to be tried again: %+v", members, o)
		}
	}
	o := said(t, provider, request, `"status":"failed","outputs":{"provider_run_result":{"error":{"code":"E_MODEL"}}}`).Outcome
	if o.FailureCode != "E_MODEL" || diagnostic(o, CodeResult) == nil {
		t.Errorf("%+v", o)
	}
}

func TestResultsOfAProvidersOwn(t *testing.T) {
	t.Parallel()
	p := provider
	p.RuntimeContract = homeboy.Value(`{"normalization":{"status_path":"result.status","summary_path":"result.text","output_artifacts":["notes",{"name":"page","path":"outputs.pages.first","type":"html","schema":"s/1"},{"name":"none"}]}}`)
	p.ResultContract = homeboy.Value(`{"typed_artifact_envelope":{"schema":"own/run/v1"}}`)
	a := readIt(t, p, request, printed(`{"schema":"own/result/v1","task_id":"t1","result":{"status":"completed","text":"well"},"outputs":{"notes":"n","pages":{"first":"<p>"},
		"provider_run_result":{"schema":"own/run/v1","typed_artifacts":[{"name":"t","type":"x","payload":1},{"payload":2}]}}}`, 0), nil)
	o := a.Outcome
	if o.Status != homeboy.Succeeded || o.Summary != "well" {
		t.Errorf("%+v", o)
	}
	var got []string
	for _, ta := range o.TypedArtifacts {
		got = append(got, fmt.Sprintf("%s %s %s %s", ta.Name, ta.Type, ta.ArtifactSchema, ta.Payload))
	}
	if diff := cmp.Diff([]string{"t x  1", `notes   "n"`, `page html s/1 "\u003cp\u003e"`}, got); diff != "" {
		t.Error(diff)
	}
	// A wrapper that says succeeded does not hide what the result says.
	o = readIt(t, p, request, printed(`{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded","result":{"status":"failed"}}`, 0), nil).Outcome
	if o.Status != homeboy.Failed {
		t.Errorf("%+v", o)
	}
	// Without a manifest that points at it, a result of one's own is no outcome.
	if a := readIt(t, provider, request, printed(`{"schema":"own/result/v1","task_id":"t1","result":{"status":"completed"}}`, 0), nil); a.Row != "no_status" {
		t.Errorf("%s", a.Row)
	}
}

func TestDeclaredOutputs(t *testing.T) {
	t.Parallel()
	declare := func(required bool, more func(*homeboy.OutputDeclaration)) homeboy.Request {
		d := homeboy.OutputDeclaration{Name: "r", Required: required, Schema: "s/1"}
		if more != nil {
			more(&d)
		}
		q := request
		q.OutputDeclarations = []homeboy.OutputDeclaration{d}
		return q
	}
	structural := func(text string) func(*homeboy.OutputDeclaration) {
		members, _ := object(homeboy.Value(text))
		return func(d *homeboy.OutputDeclaration) { d.StructuralSchema = members }
	}
	evidence := func(d *homeboy.OutputDeclaration) {
		d.EvidenceRelationship = &homeboy.EvidenceRelationship{Relationship: "supports", Evidence: homeboy.EvidenceRef{Kind: "log", URI: "file:x"}}
	}
	for name, tc := range map[string]struct {
		q       homeboy.Request
		members string
		code    string
		status  homeboy.OutcomeStatus
	}{
		"there":                   {declare(true, nil), `"outputs":{"r":1}`, "", homeboy.Succeeded},
		"missing":                 {declare(true, nil), `"outputs":{}`, CodeOutputMissing, homeboy.CandidateRecoverable},
		"null":                    {declare(true, nil), `"outputs":{"r":null}`, CodeOutputMissing, homeboy.CandidateRecoverable},
		"missing, not required":   {declare(false, nil), `"outputs":{}`, "", homeboy.Succeeded},
		"another schema":          {declare(true, nil), `"outputs":{"r":{"schema":"s/2"}}`, CodeOutputMalformed, homeboy.CandidateRecoverable},
		"large":                   {declare(true, func(d *homeboy.OutputDeclaration) { d.MaxBytes = 3 }), `"outputs":{"r":"abc"}`, CodeOutputOversized, homeboy.CandidateRecoverable},
		"large by its spaces":     {declare(true, func(d *homeboy.OutputDeclaration) { d.MaxBytes = 3 }), `"outputs":{"r":[   1   ]}`, "", homeboy.Succeeded},
		"as it should be":         {declare(true, structural(`{"type":"object","required":["a"]}`)), `"outputs":{"r":{"a":1}}`, "", homeboy.Succeeded},
		"not as it should be":     {declare(true, structural(`{"type":"object","required":["a"]}`)), `"outputs":{"r":{"b":1}}`, CodeOutputMalformed, homeboy.CandidateRecoverable},
		"malformed, not required": {declare(false, structural(`{"type":"string"}`)), `"outputs":{"r":1}`, CodeOutputMalformed, homeboy.Succeeded},
		"a schema that is none":   {declare(true, structural(`{"type":"nothing"}`)), `"outputs":{"r":1}`, CodeOutputDeclaration, homeboy.CandidateRecoverable},
		"without its evidence":    {declare(true, evidence), `"outputs":{"r":1}`, CodeOutputEvidence, homeboy.CandidateRecoverable},
		"with its evidence":       {declare(true, evidence), `"outputs":{"r":1},"evidence_refs":[{"kind":"log","uri":"file:x"}]`, "", homeboy.Succeeded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := said(t, provider, tc.q, `"status":"succeeded",`+tc.members).Outcome
			if o.Status != tc.status || tc.code != "" && diagnostic(o, tc.code) == nil || tc.code == "" && len(o.Diagnostics) > 0 {
				t.Errorf("%s %+v", o.Status, o.Diagnostics)
			}
			if failed := said(t, provider, tc.q, `"status":"failed",`+tc.members).Outcome; failed.Status != homeboy.Failed || tc.code != "" && diagnostic(failed, tc.code) != nil {
				t.Errorf("a failure is asked for outputs: %+v", failed)
			}
		})
	}
}

// TestKeysThatAreNotShown: edge case 45.
func TestKeysThatAreNotShown(t *testing.T) {
	t.Parallel()
	p := provider
	p.RedactedMetadataKeys = []string{"licence_code", "sessionBlob"}
	for key, hide := range map[string]bool{
		"secrets": true, "secret_env_values": true, "secretEnvValues": true, "api_key": true, "openaiApiKey": true, "X-Api-Key": true, "APIKey": true, "apikey": true,
		"Authorization": true, "proxy-authorization": true, "set-cookie": true, "password": true, "dbPassword": true, "access_token": true, "refreshToken": true, "TOKEN": true,
		"licence_code": true, "licenceCode": true, "my_licence_code": true, "session_blob": true,
		"author": false, "authors": false, "keyboard": false, "inside": false, "token_count": false, "input_tokens": false, "tokens": false, "semantic_key": false, "key": false,
		"secretary": false, "passwords_changed": false, "code": false, "session": false, "secret_env": false, "cookie_banner": false,
	} {
		a := said(t, p, request, fmt.Sprintf(`"status":"succeeded","metadata":{"deep":[{"x":{%q:"value-7"}}]},"outputs":{%q:"value-8"},"diagnostics":[{"class":"c","message":"m","data":{%q:{"n":"value-9"}}}],"extra":{%q:12345}`, key, key, key, key))
		text := string(value(a.Outcome)) + string(a.Said)
		if strings.Contains(text, "value-7") == hide || strings.Contains(text, "value-9") == hide || strings.Contains(text, "12345") == hide {
			t.Errorf("%s: %s", key, text)
		}
		if !strings.Contains(text, "value-8") {
			t.Errorf("%s: a result is gone: %s", key, text)
		}
	}
	o := said(t, p, request, `"status":"succeeded","metadata":{"password":true,"token":null,"secret":"","api_key":[]}`).Outcome
	if string(o.Metadata) != `{"password":true,"token":null,"secret":"","api_key":[]}` {
		t.Errorf("%s", o.Metadata)
	}
}

// TestSecretsAreGoneEverywhere: edge cases 43, 44 and 46.
func TestSecretsAreGoneEverywhere(t *testing.T) {
	t.Parallel()
	const short, long, odd = "abcd-1234", "abcd-1234-and-more", `a.*[b"\c`
	r := redact.New(map[string]string{"SHORT": short, "LONG": long, "ODD": odd, "WORD": "succeeded"})
	enc := base64.StdEncoding.EncodeToString([]byte(long))
	quoted := string(value(odd))
	text := `{"schema":"homeboy/agent-task-outcome/v1","task_id":"t1","status":"succeeded","summary":"` + long + `","artifacts":[{"id":"` + short + `","kind":"k","name":` + quoted + `}],
		"typed_artifacts":[{"name":"n","payload":{"a":["` + enc + `"]}}],"outputs":{"` + long + `":{"x":` + quoted + `}},"follow_up":{"kind":"issue","title":"` + short + `","body":` + quoted + `},
		"diagnostics":[{"class":"c","message":"` + short + `","data":"` + long + `"}],"metadata":{"m":"` + long + `"},"workflow":{"id":"w","steps":[{"id":"` + short + `","status":"succeeded"}]},"more":"\u0061bcd-1234"}`
	for _, f := range []Facts{printed(text, 0), printed("x\n"+strings.ReplaceAll(text, "\n", ""), 0), printed("garbage "+long+" "+odd, 1), with2(printed(text, 0), WallTimeout, "")} {
		f.StderrTail, f.Command = "stderr "+short, "cmd "+odd
		f.Err = fmt.Errorf("open %s", long)
		a := readIt(t, provider, request, f, r)
		whole := string(value(a.Outcome)) + string(a.Said) + string(value(a.Warnings))
		for _, secret := range []string{short, long, "-and-more", odd, quoted, enc, `\u0061bcd`} {
			if strings.Contains(whole, secret) {
				t.Errorf("%q is left in %s", secret, whole)
			}
		}
		if a.Outcome.TaskID != "t1" {
			t.Errorf("%+v", a.Outcome)
		}
	}
	if a := readIt(t, provider, request, printed(text, 0), r); a.Outcome.Status != homeboy.Succeeded {
		t.Errorf("a secret that is a word of the contract changed the status: %+v", a.Outcome)
	}
}

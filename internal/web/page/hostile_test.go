package page_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/agent/action"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/evidence/bundle"
	"github.com/deedrun/deed/internal/evidence/history"
	"github.com/deedrun/deed/internal/evidence/journal"
	"github.com/deedrun/deed/internal/store"
	"github.com/deedrun/deed/internal/web/page/pagetest"
)

// evil is what an agent writes that wants to be more than text: markup in every position, a terminal's escape codes, characters that
// turn others around.
const evil = `"><script>document.title="owned"</script><img src=x onerror="document.title='owned'"><svg/onload=document.title='owned'>` +
	`</textarea></pre></code></template>{{.}}${7*7}javascript:document.title='owned'` + "\x1b[31mred\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07\x00\u202egnp.exe\u2066\u200b"

// corrupt fills every text that an agent, or who feeds it, controls with evil.
func (r *room) corrupt() (taskID, actionID string) {
	r.Helper()
	taskID = r.add(evil, func(n *store.NewTask) {
		n.Intent.Description, n.Intent.Source = evil, "cli"
		n.Intent.Payload = raw(map[string]string{"x": evil})
		n.Intent.Deed.WriteScope = []string{evil}
	})
	ref := r.begin(taskID)
	name := "a/" + strings.ReplaceAll(evil, "\x00", "")
	patch := "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@ " + evil + "\n-" + evil + "\n+" + evil + "\n+plain\n" +
		"diff --git \"a/" + strings.ReplaceAll(evil, `"`, `\"`) + "\" \"b/" + strings.ReplaceAll(evil, `"`, `\"`) + "\"\nnew file mode 100644\n--- /dev/null\n+++ b/" + evil + "\n@@ -0,0 +1 @@\n+" + evil + "\n"
	r.evidence(ref.AttemptID, patch, evidence.ChangedFile{RelativePath: name, Status: "modified", Class: evil})
	dir := filepath.Join("bundles", ref.AttemptID)
	r.put(filepath.Join(dir, bundle.PathPrompt), evil)
	r.put(filepath.Join(dir, evidence.PathManifest), string(raw(evidence.Manifest{Files: []evidence.ManifestFile{{Path: evil, Kind: evil}, {Path: "//evil.example/" + evil}, {Path: "../../" + evil}}})))
	r.put(filepath.Join(dir, "files/attempt/brief.json"), string(raw(map[string]string{"x": evil})))
	r.put(filepath.Join(dir, bundle.PathStdout), evil)
	r.put(filepath.Join(dir, bundle.PathStderr), evil)
	j, err := journal.Open(filepath.Join(r.h.Root(), dir, evidence.PathEvents), journal.Options{})
	r.ok(err)
	for _, e := range []journaled{
		{history.KindText, map[string]string{"text": evil}},
		{history.KindToolCall, agentruntime.ToolCall{CallID: "e", Tool: evil, Input: raw(map[string]string{"command": evil, evil: evil})}},
		{history.KindToolResult, agentruntime.ToolResult{CallID: "e", Status: agentruntime.ToolFailure, ErrorType: evil, Output: evil}},
		{history.KindCompletion, agentruntime.CompletionAttempt{Claim: evil, Decision: &agentruntime.CompletionDecision{Reasons: []string{evil}}}},
		{history.KindFault, map[string]string{"message": evil}},
		{evil, map[string]string{evil: evil}},
	} {
		r.ok(j.Append(e.kind, e.detail))
	}
	r.ok(j.Close())
	v := deed.Verdict{Schema: deed.SchemaVerdict, Reasons: []deed.Reason{{Code: evil, Message: evil, Path: evil, Check: evil}}, Notes: []deed.Reason{{Code: evil, Message: evil}}, Checks: []deed.CheckResult{{
		Name: evil, Command: []string{evil}, Status: deed.CheckFailed, Tail: evil, Comparison: &deed.CheckComparison{Counts: map[string]int{}, Vanished: []string{evil}, Fixed: []string{evil}},
	}}}
	r.settle(ref, store.Settlement{
		State: "resumable", Status: agentruntime.TaskBlocked, Class: string(failure.Blocked), LastError: strings.ReplaceAll(evil, "\x00", ""), Verdict: raw(v),
		Attempt: agentruntime.TaskAttempt{ExitStatus: agentruntime.ExitOK, Diagnostics: raw(map[string]any{"error": evil, "claim": map[string]any{"status": evil, "summary": evil, "file_changes": []string{evil}}})},
		Outcome: &agentruntime.TaskOutcome{Status: agentruntime.TaskBlocked, MachineStatus: agentruntime.MachineBlocked, OperatorSummary: evil},
		Action: &store.NewAction{
			Kind: action.KindPermission, Prompt: strings.ReplaceAll(evil, "\x00", ""), Why: strings.ReplaceAll(evil, "\x00", ""), Rule: "r", ContextDigest: "d", Subject: raw(action.Subject{Tool: evil, Agent: evil, Subject: evil, Input: raw(map[string]string{evil: evil})}),
		},
	})
	open, err := r.st.Actions(r.Context(), store.ActionFilter{TaskID: taskID})
	r.ok(err)
	return taskID, open[0].ID
}

func hostilePaths(task, action string) []string {
	out := []string{"/", "/tasks", "/actions", "/actions/" + action, "/search?q=owned", "/fleet"}
	for _, part := range []string{"", "/diff", "/diff?view=split", "/journal", "/journal?all=1", "/logs", "/logs?stream=stderr", "/brief", "/usage", "/bundle?verify=1"} {
		out = append(out, "/tasks/"+task+part)
	}
	return out
}

// TestWhatAnAgentWroteIsText looks for evil in the bytes of every view.
func TestWhatAnAgentWroteIsText(t *testing.T) {
	t.Parallel()
	r := enter(t)
	task, act := r.corrupt()
	hidden := regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u200b\u202a-\u202e\u2066-\u2069]")
	for _, path := range hostilePaths(task, act) {
		status, doc := r.get(path)
		if status != http.StatusOK {
			t.Errorf("%s: %d", path, status)
		}
		for _, bad := range []string{"<script>document", "<img src=x", "<svg/onload", `href="javascript:`, "</textarea></pre>"} {
			if strings.Contains(doc, bad) {
				t.Errorf("%s holds %s as markup", path, bad)
			}
		}
		if m := hidden.FindString(doc); m != "" {
			t.Errorf("%s holds the hidden character %U", path, []rune(m)[0])
		}
		if path != "/fleet" && !strings.Contains(doc, "owned") {
			t.Errorf("%s does not show what the agent wrote", path)
		}
	}
}

// TestNothingRuns opens the same views in a browser: no script of the agent's runs, and none is even refused, because there is none.
func TestNothingRuns(t *testing.T) {
	t.Parallel()
	r := enter(t)
	task, act := r.corrupt()
	w := pagetest.Browse(r, r.url)
	for _, path := range hostilePaths(task, act) {
		w.Open(path)
		if title := pagetest.Eval[string](w, `document.title`); strings.HasPrefix(title, "owned") {
			t.Errorf("%s: the agent's script ran", path)
		}
		if n := pagetest.Eval[int](w, `document.querySelectorAll("script:not([type=module]), img, iframe, object, embed, base, [onload], [onerror], [style], a[href^='javascript'], a[href*='/../']").length + [...document.links].filter(a => a.origin !== location.origin).length`); n != 0 {
			t.Errorf("%s has %d elements that the page never makes", path, n)
		}
		if bad := w.Complaints(); len(bad) > 0 {
			t.Errorf("%s: the browser complains: %q", path, bad)
		}
	}
}

// TestAThousandRows pages through a thousand tasks.
func TestAThousandRows(t *testing.T) {
	t.Parallel()
	r := enter(t)
	list := make([]store.NewTask, 1000)
	for i := range list {
		list[i] = store.NewTask{Intent: agentruntime.TaskIntent{TaskType: "bulk", Source: "cli", Subject: fmt.Sprintf("task number %d", i)}, ProfileID: "default", MaxAttempts: 1}
	}
	_, err := r.st.Enqueue(t.Context(), list...)
	r.ok(err)
	w := pagetest.Browse(r, r.url)
	w.Open("/tasks")
	seen := map[string]bool{}
	for pages := 1; ; pages++ {
		rows := pagetest.Eval[[]string](w, `[...document.querySelectorAll("#tasks tbody a.open")].map(a => a.textContent)`)
		for _, s := range rows {
			if seen[s] {
				t.Fatalf("%q stands on two pages", s)
			}
			seen[s] = true
		}
		if !pagetest.Eval[bool](w, `!!document.querySelector("a[rel=next]")`) || pages > 20 {
			break
		}
		first := rows[0]
		w.Do(chromedp.Click("a[rel=next]"))
		w.Until(`document.querySelector("#tasks tbody a.open").textContent !== ` + string(raw(first)) + ` && document.querySelector("footer")`)
	}
	if len(seen) != 1000 {
		t.Errorf("%d of 1000 tasks were shown", len(seen))
	}
	w.Open("/search?q=number+77")
	if n := pagetest.Eval[int](w, `document.querySelectorAll("tbody tr").length`); n != 11 {
		t.Errorf("the search found %d of 11", n)
	}
}

// TestALargeChange shows a change of five megabytes: the first view is small, and every line can be reached.
func TestALargeChange(t *testing.T) {
	t.Parallel()
	r := enter(t)
	id := r.add("A large change")
	ref := r.begin(id)
	var patch strings.Builder
	for f := range 20 {
		fmt.Fprintf(&patch, "diff --git a/gen/file%d.go b/gen/file%d.go\nnew file mode 100644\n--- /dev/null\n+++ b/gen/file%d.go\n@@ -0,0 +1,4200 @@\n", f, f, f)
		for l := range 4200 {
			fmt.Fprintf(&patch, "+	table[%d] = entry{name: \"row %d of file %d\", value: %d}\n", l, l, f, l*f)
		}
	}
	if patch.Len() < 5<<20 {
		t.Fatalf("the change has only %d bytes", patch.Len())
	}
	r.evidence(ref.AttemptID, patch.String(), modified("gen/file0.go"))
	r.settle(ref, accepted("generated", "gen/file0.go"))
	if _, doc := r.get("/tasks/" + id + "/diff"); len(doc) > 600<<10 {
		t.Errorf("the first view has %d bytes", len(doc))
	}
	w := pagetest.Browse(r, r.url)
	w.Open("/tasks/" + id + "/diff")
	if n := pagetest.Eval[int](w, `document.querySelectorAll("details.file").length`); n != 20 {
		t.Errorf("%d of 20 files", n)
	}
	w.Do(chromedp.Evaluate[chromedp.Void](`document.querySelectorAll("details.file")[19].open = true`))
	w.Until(`document.querySelectorAll("details.file")[19].querySelectorAll("tr").length >= 800`)
	// Going down loads what comes, to the last line.
	w.Until(`(() => { const f = document.querySelectorAll("details.file")[19]; f.scrollIntoView({block: "end"}); return f.innerText.includes("row 4199 of file 19"); })()`)
	if n := pagetest.Eval[int](w, `document.querySelectorAll("details.file")[19].querySelectorAll("tr").length`); n != 4201 {
		t.Errorf("%d of 4201 rows", n)
	}
	if bad := w.Complaints(); len(bad) > 0 {
		t.Errorf("the browser complains: %q", bad)
	}
}

// TestTheFirstViewIsSmall adds up what a browser fetches for the first view: the page, a style sheet, a script and an icon, all named
// in the page itself, so that one round trip after the HTML everything is there.
func TestTheFirstViewIsSmall(t *testing.T) {
	t.Parallel()
	r := enter(t)
	r.furnish()
	for range 40 { // the lists of a home are full
		id := r.add("Some work that was done, with a subject of a usual length")
		r.settle(r.begin(id), accepted("done as asked, and the tests pass", "a.go", "b.go"))
	}
	doc, total := r.zipped("/")
	assets := regexp.MustCompile(`(?:src|href)="(/static/[^"]+)"`).FindAllStringSubmatch(doc, -1)
	if len(assets) != 3 {
		t.Errorf("the page names %d assets: %q", len(assets), assets)
	}
	for _, a := range assets {
		body, n := r.zipped(a[1])
		total += n
		for _, more := range []string{"@import", "url(", "import ", "import("} {
			if strings.Contains(body, more) && !strings.HasSuffix(a[1], ".svg") {
				t.Errorf("%s asks for more with %s: that is another round trip", a[1], more)
			}
		}
	}
	t.Logf("the first view has %d bytes, compressed", total)
	if total > 150<<10 {
		t.Errorf("the first view has %d bytes, compressed", total)
	}
	if strings.Contains(doc, "//cdn") || regexp.MustCompile(`(?:src|href)="https?:`).MatchString(doc) {
		t.Error("the page asks somebody else")
	}
}

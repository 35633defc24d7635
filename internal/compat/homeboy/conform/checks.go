package conform

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/evidence/workspace"
	"github.com/deedrun/deed/internal/isolate/sandbox"
)

// loadLimit is how long a command may take to say what it is.
const loadLimit = 20 * time.Second

// declaration asks the command to describe itself.
func (p *subject) declaration(ctx context.Context) error {
	st, err := p.stage("run")
	if err != nil {
		return err
	}
	r := p.run(ctx, st, invocation{args: []string{"--provider-contract"}, limit: loadLimit})
	reason := r.ended()
	if reason == "" {
		var x homeboy.ExecutorProvider
		switch err := json.Unmarshal(r.stdout, &x); {
		case err != nil:
			reason = "it did not print one JSON object: " + err.Error()
		case x.ID != p.x.ID || x.Backend != p.x.Backend:
			reason = fmt.Sprintf("it says that it is %q with the backend %q, and the manifest says %q with %q", x.ID, x.Backend, p.x.ID, p.x.Backend)
		}
	}
	p.add(p.x.ID, ruleDeclaration, "", reason, when(reason != "", r))
	return nil
}

// when is the evidence of a run, where it is needed.
func when(needed bool, r ran) string {
	if !needed {
		return ""
	}
	return r.evidence()
}

// minimal runs a valid request and looks at everything that it left.
func (p *subject) minimal(ctx context.Context) error {
	st, err := p.stage("run")
	if err != nil {
		return err
	}
	before, err := workspace.Snapshot(ctx, st.work, nil)
	if err != nil {
		return err
	}
	r := p.run(ctx, st, invocation{stdin: bytes.NewReader(st.complete(p.with(func(runtimepkg.Document) {}), false))})
	check := func(c rule, reason string) { p.add(p.x.ID, c, "", reason, when(reason != "", r)) }
	doc, alone := r.document()
	if doc == nil {
		reason := "there is none"
		if why := r.ended(); why != "" {
			reason = why
		}
		check(ruleDocument, reason)
		for _, c := range []rule{ruleAlone, ruleSchema, ruleTask, ruleStatus, ruleClass, ruleStrict, ruleExit, ruleExist, ruleInside, ruleDigest} {
			p.add(p.x.ID, c, deed.ConformSkip, "there is no outcome", "")
		}
	} else {
		check(ruleDocument, "")
		check(ruleAlone, unless(alone, "there is more than the outcome"))
		p.outcome(r, doc, check)
	}
	check(ruleSecrets, p.leaks(r))
	if p.opt.Isolation == sandbox.Process {
		check(ruleLeft, unless(r.exit.Killed == 0, fmt.Sprintf("%d processes outlived it", r.exit.Killed)))
	} else {
		p.add(p.x.ID, ruleLeft, deed.ConformSkip, "its sandbox ends with it, and whatever is left: --isolation process would show it", "")
	}
	return p.scope(ctx, r, before)
}

func unless(ok bool, reason string) string {
	if ok {
		return ""
	}
	return reason
}

// outcome looks at the document itself.
func (p *subject) outcome(r ran, doc []byte, check func(rule, string)) {
	var said struct {
		Schema any `json:"schema"`
		TaskID any `json:"task_id"`
		Status any `json:"status"`
	}
	_ = json.Unmarshal(doc, &said) // a member of another type stays as it is, and is reported below
	task, _ := p.base["task_id"].(string)
	o, warnings, err := homeboy.ReadOutcome(doc, "") // the id has a rule of its own
	if err != nil {
		check(ruleSchema, err.Error())
		return
	}
	p.status = o.Status
	check(ruleSchema, unless(said.Schema == homeboy.SchemaOutcome, fmt.Sprintf("it is %v, and not %s", said.Schema, homeboy.SchemaOutcome)))
	check(ruleTask, unless(said.TaskID == task, fmt.Sprintf("it is %v, and the request has %q", said.TaskID, task)))
	word, _ := said.Status.(string)
	declared := p.x.OutcomeStatuses
	switch {
	case !slices.Contains(homeboy.OutcomeStatuses, homeboy.OutcomeStatus(word)):
		check(ruleStatus, fmt.Sprintf("%v is not a status of the contract", said.Status))
	case len(declared) > 0 && !slices.Contains(declared, word):
		check(ruleStatus, fmt.Sprintf("%s is not one of outcome_statuses: %s", word, strings.Join(declared, ", ")))
	default:
		check(ruleStatus, "")
	}
	p.classification(o, doc, check)
	var repairs []string
	for _, w := range warnings {
		if w.Path != "$.schema" && w.Path != "$.task_id" && w.Path != "$.status" && w.Path != "$.failure_classification" {
			repairs = append(repairs, w.String()) // the others have rules of their own
		}
	}
	check(ruleStrict, strings.Join(repairs, "\n"))
	check(ruleExit, r.ended())
	p.files(r, o, check)
}

func (p *subject) classification(o homeboy.Outcome, doc []byte, check func(rule, string)) {
	var said struct {
		Class string `json:"failure_classification"`
	}
	_ = json.Unmarshal(doc, &said) // as above
	declared := p.x.FailureClassifications
	switch {
	case homeboy.IsSuccess(o.Status):
		p.add(p.x.ID, ruleClass, deed.ConformSkip, "it is no failure", "")
	case said.Class == "":
		check(ruleClass, "it has none")
	case len(declared) > 0 && !slices.Contains(declared, said.Class):
		check(ruleClass, fmt.Sprintf("%s is not one of failure_classifications: %s", said.Class, strings.Join(declared, ", ")))
	default:
		check(ruleClass, "")
	}
}

// files looks at the artifacts that the outcome names.
func (p *subject) files(r ran, o homeboy.Outcome, check func(rule, string)) {
	var missing, outside, wrong []string
	n := 0
	for _, a := range o.Artifacts {
		if a.Path == "" {
			continue
		}
		n++
		path := r.locate(a.Path)
		if !r.inside(path) {
			outside = append(outside, fmt.Sprintf("%s is at %s", a.ID, a.Path))
			continue
		}
		content, err := plainfile.Read(path, 64<<20)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s: %v", a.ID, err))
			continue
		}
		sum := sha256.Sum256(content)
		if a.SHA256 != "" && a.SHA256 != hex.EncodeToString(sum[:]) {
			wrong = append(wrong, fmt.Sprintf("%s has the digest %s and says %s", a.ID, hex.EncodeToString(sum[:]), a.SHA256))
		}
		if a.SizeBytes != nil && *a.SizeBytes != int64(len(content)) {
			wrong = append(wrong, fmt.Sprintf("%s has %d bytes and says %d", a.ID, len(content), *a.SizeBytes))
		}
	}
	if n == 0 {
		for _, c := range []rule{ruleExist, ruleInside, ruleDigest} {
			p.add(p.x.ID, c, deed.ConformSkip, "the outcome names no file", "")
		}
		return
	}
	check(ruleExist, strings.Join(missing, "\n"))
	check(ruleInside, strings.Join(outside, "\n"))
	check(ruleDigest, strings.Join(wrong, "\n"))
}

// locate is where a path of an outcome leads: relative ones begin at the working directory.
func (r ran) locate(path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(r.work, path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

func (r ran) inside(path string) bool {
	return slices.ContainsFunc([]string{r.artifacts, r.work}, func(top string) bool { return strings.HasPrefix(path, top+"/") })
}

// leaks looks for planted secrets in everything that the command wrote.
func (p *subject) leaks(r ran) string {
	if !p.hide.Active() {
		return ""
	}
	var found []string
	look := func(where string, from io.Reader) {
		if counts, err := p.hide.Find(from); err == nil && counts.Total() > 0 {
			found = append(found, fmt.Sprintf("%s holds %s", where, strings.Join(counts.Names(), ", ")))
		}
	}
	look("standard output", bytes.NewReader(r.stdout))
	look("standard error", bytes.NewReader(r.stderr))
	for _, top := range []string{r.artifacts, r.work} {
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil //nolint:nilerr // what cannot be read shows nothing
			}
			if f, err := plainfile.Open(path); err == nil {
				rel, _ := filepath.Rel(r.top, path)
				look(rel, f)
				_ = f.Close() // only read
			}
			return nil
		})
	}
	return strings.Join(found, "\n")
}

// scope looks whether the workspace is as it was, where the manifest says that nothing is written there.
func (p *subject) scope(ctx context.Context, r ran, before *workspace.Manifest) error {
	w := p.x.WorkspaceMaterialization
	if w == nil || w.WriteScope != homeboy.WriteNone && w.WriteScope != homeboy.WriteArtifacts {
		p.add(p.x.ID, ruleWorkspace, deed.ConformSkip, "the manifest does not say that the workspace stays as it is", "")
		return nil
	}
	after, err := workspace.Snapshot(ctx, r.work, nil)
	if err != nil {
		return err
	}
	var changed []string
	for _, d := range workspace.Compare(before, after) {
		if w.WriteScope == homeboy.WriteArtifacts && slices.ContainsFunc(w.ArtifactPaths, func(top string) bool { return around(d.Path, top) }) {
			continue
		}
		changed = append(changed, d.String())
	}
	reason := strings.Join(changed, "\n")
	p.add(p.x.ID, ruleWorkspace, "", reason, when(reason != "", r))
	return nil
}

// around reports whether a path is below another one, or is a directory on the way to it.
func around(path, top string) bool {
	top = filepath.Clean(top)
	return path == top || strings.HasPrefix(path, top+"/") || strings.HasPrefix(top, path+"/")
}

// refused sends what is no valid request.
func (p *subject) refused(ctx context.Context) error {
	without := func(path string) func(runtimepkg.Document) {
		return func(doc runtimepkg.Document) { remove(doc, path) }
	}
	valid := func(st stage, change func(runtimepkg.Document)) io.Reader {
		doc := p.with(func(runtimepkg.Document) {})
		full, _ := runtimepkg.ReadDocument(st.complete(doc, false))
		change(full)
		text, _ := json.Marshal(full) // it was JSON
		return bytes.NewReader(text)
	}
	type bad struct {
		rule
		stdin func(st stage) io.Reader
	}
	change := func(c rule, f func(runtimepkg.Document)) bad {
		return bad{c, func(st stage) io.Reader { return valid(st, f) }}
	}
	all := []bad{
		{ruleJSON, func(stage) io.Reader { return strings.NewReader("this is {not} JSON\n") }},
		{ruleEmpty, func(stage) io.Reader { return strings.NewReader("") }},
		{ruleClosed, func(stage) io.Reader { return nil }},
		change(ruleForeign, func(doc runtimepkg.Document) { doc["schema"] = "homeboy/agent-task-request/v999" }),
		change(ruleNoTask, without("task_id")),
		change(ruleBackend, func(doc runtimepkg.Document) {
			doc["executor"].(map[string]any)["backend"] = "conform-no-such-backend"
		}),
	}
	for _, path := range p.x.RequestRequiredFields {
		if path = strings.TrimPrefix(strings.TrimSpace(path), "$."); slices.Contains([]string{"schema", "task_id", "executor.backend", "artifacts_path"}, path) {
			continue // they have rules of their own, or are the host's to give
		}
		if _, there := p.base.At(path); !there {
			c := ruleField
			c.id += path
			p.add(p.x.ID, c, deed.ConformSkip, "the valid request has no such field (give one with --request)", "")
			continue
		}
		c := ruleField
		c.id += path
		all = append(all, change(c, without(path)))
	}
	for _, b := range all {
		st, err := p.stage("run")
		if err != nil {
			return err
		}
		p.refusal(b.rule, p.run(ctx, st, invocation{stdin: b.stdin(st)}))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// refusal judges the answer to a request that is not valid.
func (p *subject) refusal(c rule, r ran) {
	result, reason := "", ""
	doc, alone := r.document()
	switch {
	case doc == nil && r.err == nil && !r.exit.TimedOut && r.exit.Signal == "" && r.exit.Code != 0:
		result, reason = deed.ConformWarn, fmt.Sprintf(nonZero, r.exit.Code)
	case doc == nil:
		reason = "there is no outcome"
		if why := r.ended(); why != "" {
			reason += ": " + why
		}
	case !alone:
		reason = "standard output holds more than the outcome"
	case r.ended() != "":
		reason = "there is an outcome, and " + r.ended()
	default:
		o, _, err := homeboy.ReadOutcome(doc, "")
		switch {
		case err != nil:
			reason = err.Error()
		case homeboy.IsSuccess(o.Status):
			reason = fmt.Sprintf("it says %s", o.Status)
		case o.FailureClassification != homeboy.ClassInvalidInput && !slices.ContainsFunc(o.Diagnostics, func(d homeboy.Diagnostic) bool { return strings.Contains(d.Class, "request_validation") }):
			result, reason = deed.ConformWarn, vague
		}
	}
	p.add(p.x.ID, c, result, reason, when(reason != "", r))
}

// remove takes a member out of a document.
func remove(doc runtimepkg.Document, path string) {
	parts := strings.Split(path, ".")
	at := map[string]any(doc)
	for _, name := range parts[:len(parts)-1] {
		next, ok := at[name].(map[string]any)
		if !ok {
			return
		}
		at = next
	}
	delete(at, parts[len(parts)-1])
}

// tolerated sends valid requests that are out of the ordinary: each ends as the first one did.
func (p *subject) tolerated(ctx context.Context) error {
	const odd = `a dir with "quotes", it's $HOME`
	again := func(c rule, name string, v invocation, change func(runtimepkg.Document)) error {
		st, err := p.stage(name)
		if err != nil {
			return err
		}
		v.stdin = bytes.NewReader(st.complete(p.with(change), false))
		r := p.run(ctx, st, v)
		reason := p.same(r)
		p.add(p.x.ID, c, "", reason, when(reason != "", r))
		return nil
	}
	if p.status == "" {
		for _, c := range []rule{ruleExtra, ruleLarge, ruleOddDirs, ruleOddHome} {
			p.add(p.x.ID, c, deed.ConformSkip, "the valid request had no outcome", "")
		}
		return nil
	}
	err := errors.Join(
		again(ruleExtra, "run", invocation{}, func(doc runtimepkg.Document) {
			doc["x_conform"] = map[string]any{"later": []any{json.Number("1"), nil}}
			doc["executor"].(map[string]any)["x_conform"] = true
		}),
		again(ruleLarge, "run", invocation{}, func(doc runtimepkg.Document) {
			doc["metadata"] = map[string]any{"x_conform": strings.Repeat("0123456789abcdef", 5<<20/16)}
		}),
		again(ruleOddDirs, odd, invocation{}, func(runtimepkg.Document) {}),
	)
	if err != nil {
		return err
	}
	moved, why := p.moved(odd)
	if moved == nil {
		p.add(p.x.ID, ruleOddHome, deed.ConformSkip, why, "")
		return nil
	}
	return again(ruleOddHome, "run", invocation{pkg: moved}, func(runtimepkg.Document) {})
}

// same compares a run with the first one.
func (p *subject) same(r ran) string {
	doc, _ := r.document()
	if doc == nil {
		return strings.TrimSuffix("there is no outcome: "+r.ended(), ": ")
	}
	o, _, err := homeboy.ReadOutcome(doc, "")
	switch {
	case err != nil:
		return err.Error()
	case o.Status != p.status:
		return fmt.Sprintf("it says %s, and said %s to the plain request", o.Status, p.status)
	}
	return ""
}

// Bounds of a package that is copied to look at it elsewhere.
const (
	maxFiles = 5000
	maxBytes = 256 << 20
)

// moved is a copy of the package at a path with blanks and quotes in it; without one it says why.
func (p *subject) moved(odd string) (*runtimepkg.Package, string) {
	if slices.ContainsFunc(p.pkg.Findings, func(f runtimepkg.Finding) bool { return f.Code == runtimepkg.OutsideFile }) {
		return nil, "the package needs files that are not its own, and cannot be moved"
	}
	files, size := 0, int64(0)
	tooMuch := errors.New("too much")
	err := filepath.WalkDir(p.pkg.Real, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if files++; d.Type().IsRegular() {
			if fi, err := d.Info(); err == nil {
				size += fi.Size()
			}
		}
		if files > maxFiles || size > maxBytes {
			return tooMuch
		}
		return nil
	})
	dst := filepath.Join(p.tmp, fmt.Sprintf("moved-%d", p.n), odd, p.pkg.ID)
	if err == nil {
		err = os.MkdirAll(dst, 0o700)
	}
	if err == nil {
		err = os.CopyFS(dst, os.DirFS(p.pkg.Real))
	}
	if err != nil {
		return nil, fmt.Sprintf("the package could not be copied: %v", err)
	}
	moved, err := runtimepkg.Lint(dst)
	if err != nil {
		return nil, err.Error()
	}
	return moved, ""
}

// stopped asks a command to end that waits for its request: when it says something, else when it has had time to begin.
func (p *subject) stopped(ctx context.Context) error {
	st, err := p.stage("run")
	if err != nil {
		return err
	}
	in, hold, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(in.Close(), hold.Close()) }() // nothing is written to it
	stop, cancel := context.WithCancel(ctx)
	defer cancel()
	settle := time.AfterFunc(p.opt.settle, cancel)
	defer settle.Stop()
	r := p.run(stop, st, invocation{stdin: in, onOutput: cancel})
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p.add(p.x.ID, ruleStop, "", p.killed(r), when(p.killed(r) != "", r))
	return nil
}

// killed says that a command had to be killed.
func (p *subject) killed(r ran) string {
	switch {
	case r.err != nil:
		return r.err.Error()
	case r.exit.Signal == "SIGKILL":
		return fmt.Sprintf("it did not end within %v of SIGTERM, and was killed", p.opt.Patience)
	}
	return ""
}

// limited gives the command a second.
func (p *subject) limited(ctx context.Context) error {
	st, err := p.stage("run")
	if err != nil {
		return err
	}
	r := p.run(ctx, st, invocation{stdin: bytes.NewReader(st.complete(p.with(func(runtimepkg.Document) {}), true)), limit: time.Second + p.opt.Patience})
	result, reason := "", p.killed(r)
	if reason == "" && r.exit.TimedOut {
		result, reason = deed.ConformWarn, wasEnded
	}
	p.add(p.x.ID, ruleLimit, result, reason, when(reason != "", r))
	return nil
}

package attempt

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/internal/attempt/brief"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/base/canonjson"
	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/plainfile"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// BriefFile is the brief's document in an attempt's directory. It is written before the agent starts. It survives
// SIGKILL, but perhaps not a power cut; whoever continues the attempt then sees from its hash that it is gone.
const BriefFile = "brief.json"

// PathBrief is the same document in the attempt's bundle.
const PathBrief = "files/attempt/brief.json"

// promptFile is the text with its secrets, where the document has marks instead. It never leaves the attempt's
// directory.
const promptFile = "prompt.txt"

// bundlesVar names the directory of bundles for the agent, so that no brief contains a path of this home.
const bundlesVar = "DEED_BUNDLES"

// compileBrief compiles the brief and writes it to disk. A conversation that continues keeps the brief that it began
// with.
func (a *run) compileBrief(ctx context.Context) error {
	if a.resumed != nil && a.resumed.brief != nil {
		a.brief = *a.resumed.brief
	} else if err := a.newBrief(ctx); err != nil {
		return err
	}
	err := atomicfile.Replace(a.path(BriefFile), a.brief.Document, 0o600)
	if err == nil && a.redactor.Contains([]byte(a.brief.Text)) {
		err = atomicfile.Replace(a.path(promptFile), []byte(a.brief.Text), 0o600)
	}
	if err != nil {
		return failure.New(failure.Infra, "write the brief", err, "free space in the home, or make it writable")
	}
	return nil
}

func (a *run) newBrief(ctx context.Context) error {
	answers, err := a.answers(ctx)
	if err != nil {
		return failure.New(failure.Infra, "read the answers of people", err, "")
	}
	memory, err := a.memory(ctx)
	if err != nil {
		return failure.New(failure.Infra, "read the recent tasks of the agent", err, "")
	}
	p := a.plan
	in := brief.Input{
		RuntimeName: a.Config.Name, Agent: p.agent.briefAgent(), Intent: a.claim.Task.Intent, Profile: p.profile,
		AdapterID: p.adapter.ID(), AdapterKind: p.adapter.Kind(), Model: p.model,
		Spec: a.placelessSpec(specWithoutPaths(p)), Required: p.evidence.RequiredArtifacts, Base: a.before.Digest(), Commit: a.main().Commit, Answers: answers,
		Runtime: append(a.runtimeNotes(), a.skillNotes()...), House: a.instructions(), Memory: memory, Skills: a.briefSkills(),
	}
	if in.AdapterHash, err = adapterHash(p.adapter); err != nil {
		return failure.New(failure.Config, "hash the adapter's settings", err, "")
	}
	a.pinProgram(&in)
	a.pinWorkspace(&in)
	in.Intent.Payload = a.placeless(in.Intent.Payload)
	if in.Intent.WorkflowRef != nil {
		in.Artifacts = a.earlierArtifacts(ctx, brief.ReadWorkflow(in.Intent.Payload))
	}
	a.brief, err = brief.Compile(in)
	var long *brief.TooLong
	switch {
	case errors.As(err, &long):
		return failure.New(failure.Config, "compile the brief", err, long.Remedy())
	case err != nil:
		return failure.New(failure.Config, "compile the brief", err, "")
	}
	a.brief = a.withoutSecrets(a.brief)
	return nil
}

// withoutSecrets returns the brief as evidence keeps it, with marks instead of secrets. If the marks would change
// what is dropped, the document and its hash stay those of what the agent got, and the bundle has a document that is
// not what was hashed.
func (a *run) withoutSecrets(b brief.Brief) brief.Brief {
	if !a.redactor.Contains(b.Document) {
		return b
	}
	kept, err := b.Evidence(a.redactor.Value)
	if err != nil {
		return b
	}
	if d, err := brief.Read(kept.Document); err != nil || d.Prompt != a.redactor.String(b.Text) {
		return b
	}
	return kept
}

// bundles is the directory that bundlesVar stands for; empty: the brief names no file below it.
func (a *run) bundles() string {
	if a.claim.Task.Intent.WorkflowRef == nil {
		return ""
	}
	return a.Home.Bundles()
}

// memory returns what the agent learns about its recent tasks; see brief.Remember for the rule.
func (a *run) memory(ctx context.Context) ([]brief.Memory, error) {
	if !a.plan.profile.ContextPolicy.IncludeRecentMemory {
		return nil, nil
	}
	list, err := a.Store.RecentTasks(ctx, a.whose(), brief.MemoryTasks)
	if err != nil {
		return nil, err
	}
	var out []brief.Memory
	for _, t := range list {
		last, err := a.Store.Attempt(ctx, t.AttemptID)
		if err != nil {
			return nil, err
		}
		var v *deed.Verdict
		if len(last.Verdict) > 0 {
			v = new(deed.Verdict)
			if err := json.Unmarshal(last.Verdict, v); err != nil {
				return nil, fmt.Errorf("verdict of attempt %s: %w", t.AttemptID, err)
			}
		}
		out = append(out, brief.Remember(t.Record, last.Class, failure.Class(last.Class).Rule().About, v))
	}
	return out, nil
}

// whose returns the owner of an attempt: the agent of this runtime, else the runtime itself.
func (r *Runner) whose() string {
	if r.Config.Agent != "" {
		return r.Config.Agent
	}
	return "runtime/" + r.Config.Name
}

// adapterHash pins how an agent is called. Paths differ by machine, so only the names in them count. Values of the
// environment may be secrets, so only the names of variables count.
func adapterHash(c agentruntime.AdapterConfig) (string, error) {
	c = c.WithPaths(agentruntime.Paths{Command: filepath.Base, WorkingDir: filepath.Base, EnvFile: filepath.Base, RuntimeDir: filepath.Base})
	raw, err := json.Marshal(c)
	if err != nil {
		return "", err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return "", err
	}
	var env map[string]string
	if json.Unmarshal(members["env"], &env) == nil {
		names := []string{}
		for name := range env {
			names = append(names, name)
		}
		slices.Sort(names)
		members["env"] = mustJSON(names)
	}
	h, err := canonjson.Hash(members)
	return "sha256:" + h, err
}

// pinProgram pins a script's own file. A program found on the PATH belongs to the machine, and may differ on another.
func (a *run) pinProgram(in *brief.Input) {
	if a.plan.adapter.Kind() != agentruntime.KindScript {
		return
	}
	command := a.plan.adapter.Common().Command
	if !strings.ContainsRune(command, filepath.Separator) {
		in.Unpinned = append(in.Unpinned, "the program "+command+" is whichever the PATH finds")
		return
	}
	digest, _, err := digestFile(plainfile.Open(command))
	if err != nil {
		in.Unpinned = append(in.Unpinned, "the program "+filepath.Base(command)+" could not be read")
		return
	}
	in.ProgramDigest = digest
}

// pinWorkspace lists the parts of the workspace that cannot be restored later: a digest shows that they changed, not
// what they were.
func (a *run) pinWorkspace(in *brief.Input) {
	for _, p := range a.seeded.Parts {
		what := "the workspace"
		if len(a.seeded.Parts) > 1 {
			what = "the workspace at " + p.Target
		}
		switch p.Kind {
		case workspace.SourceGit:
			if p.Dirty {
				in.Unpinned = append(in.Unpinned, what+" has work that is in no commit")
			}
		case workspace.SourceDirectory, workspace.SourceFile:
			in.Unpinned = append(in.Unpinned, what+" is known by its digest only, it is no repository")
		case workspace.SourceBundle:
			if p.Commit == "" {
				in.Unpinned = append(in.Unpinned, what+" lies on a directory that is no repository")
			}
		}
	}
}

// placeless replaces paths below the directory of bundles by the variable that the agent has for it.
func (a *run) placeless(payload json.RawMessage) json.RawMessage {
	dir := string(mustJSON(a.Home.Bundles() + "/"))
	dir = strings.TrimSuffix(dir, `"`)
	return json.RawMessage(strings.ReplaceAll(string(payload), dir, `"$`+bundlesVar+`/`))
}

func (a *run) placelessSpec(s deed.TaskSpec) deed.TaskSpec {
	if s.Sandbox != nil { // its mounts are a copy, see specWithoutPaths
		for i, m := range s.Sandbox.Mounts {
			if rest, ok := strings.CutPrefix(m.Target, a.Home.Bundles()+"/"); ok {
				s.Sandbox.Mounts[i].Target = "$" + bundlesVar + "/" + rest
			}
		}
	}
	return s
}

// earlierArtifacts pins the files that earlier steps of the workflow left. One that cannot be read is listed without
// a digest.
func (a *run) earlierArtifacts(ctx context.Context, w *brief.Workflow) []brief.Artifact {
	if w == nil {
		return nil
	}
	var out []brief.Artifact
	root, err := os.OpenRoot(a.Home.Bundles())
	if err == nil {
		defer func() { _ = root.Close() }()
	}
	for _, v := range slices.Backward(w.Earlier) {
		for _, path := range v.Artifacts {
			f := brief.Artifact{Visit: v.Visit, StateID: v.StateID, Path: path}
			if rel, ok := strings.CutPrefix(path, "$"+bundlesVar+"/"); ok && root != nil && ctx.Err() == nil {
				f.Digest, f.Bytes, _ = digestFile(plainfile.OpenIn(root, rel))
			}
			out = append(out, f)
		}
	}
	return out
}

// digestFile takes the two results of opening a file.
func digestFile(f *os.File, err error) (digest string, bytes int64, _ error) {
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err != nil {
		return "", 0, err
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), n, nil
}

// ErrNoBrief says that an attempt has no brief: it ended before one was compiled, or what it left is gone.
var ErrNoBrief = errors.New("it has no brief")

// ErrOtherBrief says that a brief is not the one that was hashed.
var ErrOtherBrief = errors.New("the brief is not what it was when the agent was told")

// maxBrief is more than the largest max_prompt_chars makes of a brief whose texts are plain.
const maxBrief = 512 << 20

// ReadBrief reads the document in an attempt's directory or a bundle, and compares it with a hash. With ErrOtherBrief
// it returns the document too. A bundle's document has no secrets in it, so if there were some, it is not the one
// that was hashed.
func ReadBrief(dir, name, hash string) ([]byte, error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNoBrief
	} else if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	doc, err := plainfile.ReadIn(root, name, maxBrief)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, ErrNoBrief
	case err != nil:
		return nil, fmt.Errorf("read the brief: %w", err)
	case brief.Hash(doc) != hash:
		return doc, ErrOtherBrief
	}
	return doc, nil
}

// secretText returns the text with secrets for a brief whose document has marks, if the file exists and matches.
func (a *run) secretText(dir, marked string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return marked
	}
	defer func() { _ = root.Close() }()
	text, err := plainfile.ReadIn(root, promptFile, maxBrief)
	if err != nil || a.redactor.String(string(text)) != marked {
		return marked
	}
	return string(text)
}

// briefOf builds a brief from a document that was read.
func briefOf(doc []byte) (brief.Brief, error) {
	d, err := brief.Read(doc)
	if err != nil {
		return brief.Brief{}, err
	}
	return brief.Brief{Text: d.Prompt, Document: doc, Hash: brief.Hash(doc), Grade: d.Replay.Grade, Variant: d.Variant, Dropped: d.Dropped}, nil
}

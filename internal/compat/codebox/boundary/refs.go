package boundary

import (
	"cmp"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
)

// refs collects every reference of an envelope, once each, the most direct source first.
func (v *view) refs() []codebox.ArtifactRef {
	c := collector{dir: cmp.Or(v.in("session", "artifacts").text("directory"), v.text("artifacts"), v.in("run", "artifacts").text("directory")), out: []codebox.ArtifactRef{}}
	if v.text("artifacts") == "" {
		c.addAll(v.tree["artifacts"])
	}
	c.addAll(v.in("run")["artifactRefs"])
	c.add(codebox.ArtifactRef{Kind: codebox.RefArtifactBundle, Path: c.dir, ID: v.in("session", "artifacts").text("bundle_id")})
	c.add(codebox.ArtifactRef{Kind: codebox.RefChangedFiles, Path: v.agent.in("changedFiles").text("artifact")})
	c.add(codebox.ArtifactRef{Kind: codebox.RefPatch, Path: v.agent.in("patch").text("artifact"), SHA256: v.agent.in("patch").text("sha256"), SizeBytes: v.bytes})
	c.add(codebox.ArtifactRef{Kind: codebox.RefTranscript, Path: v.agent.in("transcript").text("artifact")})
	for _, e := range v.list("evidence_refs") {
		o, _ := e.(map[string]any)
		t := tree(o)
		ref := codebox.ArtifactRef{Kind: t.text("kind"), ID: t.text("id")}
		if uri := t.text("uri", "path", "url"); strings.Contains(uri, "://") {
			ref.URL = uri
		} else {
			ref.Path = uri
		}
		c.add(ref)
	}
	c.add(codebox.ArtifactRef{Kind: codebox.RefRuntime, ID: v.in("run_metadata").text("runtime_id")})
	return c.out
}

// A collector keeps references, the first for each key.
type collector struct {
	dir  string // the bundle's directory
	seen []string
	out  []codebox.ArtifactRef
}

// addAll adds the references of a list, of an object that is a reference itself, or of an object that holds a list.
func (c *collector) addAll(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if o, ok := e.(map[string]any); ok {
				c.addObject(o)
			}
		}
	case map[string]any:
		if tree(v).text("kind") != "" {
			c.addObject(v)
			return
		}
		for _, name := range []string{"items", "files", "artifacts"} {
			if l, ok := v[name].([]any); ok {
				c.addAll(l)
			}
		}
	}
}

func (c *collector) addObject(t tree) {
	ref := codebox.ArtifactRef{ID: t.text("id"), Kind: t.text("kind"), Path: t.text("path", "directory"), URL: t.text("url"), SHA256: t.text("sha256"), Metadata: t.raw("metadata")}
	if n, ok := t.number("size_bytes"); ok && n >= 0 {
		ref.SizeBytes = &n
	}
	c.add(ref)
}

// add keeps a reference that has a kind and something to find it by. A file of the bundle is named relative to the
// bundle.
func (c *collector) add(ref codebox.ArtifactRef) {
	if rest, ok := strings.CutPrefix(ref.Path, c.dir+"/"); ok && c.dir != "" {
		ref.Path = rest
	}
	if ref.Path != "" && !safe(ref.Path) {
		return
	}
	key := locator(ref)
	if ref.Kind == "" || key == "" || slices.Contains(c.seen, key) {
		return
	}
	c.seen = append(c.seen, key)
	c.out = append(c.out, ref)
}

// locator is what a reference is found by.
func locator(ref codebox.ArtifactRef) string { return cmp.Or(ref.Path, ref.URL, ref.ID) }

var drive = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z]:`) })

// safe reports whether a path is unambiguous: clean, without "..", and not written for another system.
func safe(p string) bool {
	return !slices.Contains(strings.Split(p, "/"), "..") && !strings.Contains(p, `\`) && !drive().MatchString(p) && path.Clean(p) == p
}

// group sorts references by their kind.
func group(refs []codebox.ArtifactRef) codebox.GroupedRefs {
	of := func(kinds ...string) []codebox.ArtifactRef {
		out := []codebox.ArtifactRef{}
		for _, r := range refs {
			if slices.Contains(kinds, r.Kind) {
				out = append(out, r)
			}
		}
		return out
	}
	return codebox.GroupedRefs{
		ArtifactBundles: of(evidence.KindArtifactBundle, codebox.RefArtifactBundle),
		ChangedFiles:    of(codebox.RefChangedFiles),
		Patches:         of(codebox.RefPatch),
		Transcripts:     of(codebox.RefTranscript),
		Logs:            of(codebox.RefRuntimeLog, codebox.RefCommandLog),
		Runtimes:        of(codebox.RefRuntime),
		EvidenceBundles: of("evidence-bundle", codebox.RefEvidenceBundle),
	}
}

var observedName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]*$`) })

func isObservedName(s string) bool {
	return len(s) <= codebox.MaxObservedName && observedName().MatchString(s)
}

// observed returns which tools were called, by name and within limits. An incomplete call is left out. The input and
// the output of a tool are never included.
func (v *view) observed() *codebox.ToolObservability {
	t := v.either("tool_observability")
	for _, o := range []tree{v.in("metadata", "tool_observability"), v.in("agent_task_result", "tool_observability")} {
		if t == nil {
			t = o
		}
	}
	if n, ok := t["version"].(json.Number); !ok || n.String() != "1" {
		return nil
	}
	out := &codebox.ToolObservability{Version: codebox.ToolObservabilityVersion, Calls: []codebox.ObservedCall{}}
	for _, e := range t.list("calls") {
		o, _ := e.(map[string]any)
		if call, ok := observedCall(o); ok && len(out.Calls) < codebox.MaxObservedCalls {
			out.Calls = append(out.Calls, call)
		}
	}
	return out
}

func observedCall(t tree) (codebox.ObservedCall, bool) {
	c := codebox.ObservedCall{ID: t.text("id", "call_id"), Name: t.text("name", "tool_name"), Status: t.text("status")}
	if !isObservedName(c.ID) || !isObservedName(c.Name) || c.Status != "" && !isObservedName(c.Status) {
		return c, false
	}
	if t["arguments"] == nil {
		return c, true
	}
	a := t.in("arguments")
	keys := a.list("keys")
	count, ok := a.number("count")
	if !a.is("redacted", true) || !ok || count != int64(len(keys)) || len(keys) > codebox.MaxObservedKeys {
		return c, false
	}
	c.Arguments = &codebox.ObservedArguments{Redacted: true, Count: len(keys), Keys: []string{}}
	for _, k := range keys {
		s, _ := k.(string)
		if !isObservedName(s) {
			return c, false
		}
		c.Arguments.Keys = append(c.Arguments.Keys, s)
	}
	return c, true
}

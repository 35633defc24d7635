package component

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/internal/base/atomicfile"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// What an importer does if the agent exists already.
const (
	OnConflictError   = "error"
	OnConflictSkip    = "skip"
	OnConflictUpgrade = "upgrade"
)

// maxBundleFile bounds a bundle that is a single file, or that is written into the request.
const maxBundleFile = 16 << 20

// bundlesIndex is the file, below Request.Dir, that describes the bundles to an agent.
const bundlesIndex = "bundles.json"

// inlineFile is the name of a bundle that was written into the request.
const inlineFile = "bundle.json"

// A Bundle is an entry of agent_bundles: a source on the machine, or the bundle itself.
type Bundle struct {
	Source          string
	Bundle          json.RawMessage // a JSON object
	Slug            string
	OnConflict      string // "": upgrade
	OwnerID         int64  // 0: none
	TokenEnv        string
	ImportPrincipal *Principal
	At              string // its path in the wire request; "": by list and index
}

// A Principal is the one on whose behalf a bundle is imported. Ids of 0 are absent.
type Principal struct {
	AgentID      int64           `json:"agent_id,omitempty"`
	OwnerID      int64           `json:"owner_id,omitempty"`
	TokenID      int64           `json:"token_id,omitempty"`
	Capabilities []string        `json:"capabilities,omitempty"`
	Scope        json.RawMessage `json:"scope,omitempty"` // a JSON object
}

// A BundleResult is what the agent learns about a bundle.
type BundleResult struct {
	Slug            string     `json:"slug"`
	Source          string     `json:"source"` // inside the sandbox
	RequestedSource string     `json:"requestedSource,omitempty"`
	Digest          string     `json:"digest"`
	OnConflict      string     `json:"on_conflict"`
	OwnerID         int64      `json:"owner_id,omitempty"`
	TokenEnv        string     `json:"token_env,omitempty"`
	ImportPrincipal *Principal `json:"import_principal,omitempty"`
}

type bundle struct {
	at     string
	b      Bundle
	source string // the true path; "" for an inline bundle
	res    BundleResult
}

func (r *resolver) bundles() []bundle {
	var out []bundle
	for i, b := range r.req.Bundles {
		at := at(b.At, "agent_bundles", i)
		n := r.faults.Len()
		v := bundle{at: at, b: b}
		r.bundleContent(&v)
		v.res = BundleResult{RequestedSource: b.Source, OnConflict: b.OnConflict, OwnerID: b.OwnerID, TokenEnv: b.TokenEnv}
		v.res.Slug = r.bundleSlug(at, i, b)
		if b.OnConflict == "" {
			v.res.OnConflict = OnConflictUpgrade
		} else {
			fault.OneOf(&r.faults, at+".on_conflict", b.OnConflict, OnConflictError, OnConflictSkip, OnConflictUpgrade)
		}
		r.positive(at+".owner_id", b.OwnerID)
		if b.TokenEnv != "" {
			r.faults.EnvName(at+".token_env", b.TokenEnv)
		}
		v.res.ImportPrincipal = r.principal(at+".import_principal", b.ImportPrincipal)
		if r.faults.Len() > n {
			continue
		}
		dir := path.Join(BundlesDir, v.res.Slug)
		r.taken = append(r.taken, taken{at, dir})
		out = append(out, v)
	}
	return out
}

func (r *resolver) bundleContent(v *bundle) {
	switch b := v.b; {
	case b.Source == "" && len(b.Bundle) == 0:
		r.faults.Add(v.at, fault.MissingField, "has neither source nor bundle", "name a directory or file as source, or write the bundle as an object")
	case b.Source != "" && len(b.Bundle) > 0:
		r.faults.Add(v.at, fault.Conflict, "has source and bundle", "give one of them")
	case b.Source != "":
		v.source = r.source(v.at+".source", b.Source)
		if v.source == "" {
			return
		}
		fi, err := os.Stat(v.source)
		if err != nil || !fi.IsDir() && !fi.Mode().IsRegular() {
			r.faults.Add(v.at+".source", fault.WrongType, fmt.Sprintf("%q is neither a directory nor a file", b.Source), "name one of them")
		} else if !fi.IsDir() && fi.Size() > maxBundleFile {
			r.faults.Add(v.at+".source", fault.OutOfRange, fmt.Sprintf("%q has %d bytes", b.Source, fi.Size()), fmt.Sprintf("use at most %d, or a directory", maxBundleFile))
		}
	default:
		r.faults.Object(v.at+".bundle", b.Bundle)
		if len(b.Bundle) > maxBundleFile {
			r.faults.Add(v.at+".bundle", fault.OutOfRange, fmt.Sprintf("has %d bytes", len(b.Bundle)), fmt.Sprintf("use at most %d", maxBundleFile))
		}
	}
}

// bundleSlug is the requested slug, else the name of the source, else the bundle's own name, else its position.
func (r *resolver) bundleSlug(at string, i int, b Bundle) string {
	if strings.TrimSpace(b.Slug) != "" {
		slug, ok := Slug(b.Slug)
		if !ok {
			r.faults.Add(at+".slug", fault.BadFormat, fmt.Sprintf("%.80q gives no slug", b.Slug), "use letters, digits, - and _, at most 128")
		}
		return slug
	}
	if b.Source != "" {
		name := filepath.Base(filepath.Clean(b.Source))
		if slug, ok := Slug(strings.TrimSuffix(name, filepath.Ext(name))); ok {
			return slug
		}
	}
	if m, ok := rawObject(b.Bundle); ok {
		var name string
		if json.Unmarshal(m["slug"], &name) == nil {
			if slug, ok := Slug(name); ok {
				return slug
			}
		}
	}
	return fmt.Sprintf("bundle-%d", i+1)
}

func (r *resolver) positive(at string, id int64) {
	if id < 0 {
		r.faults.Add(at, fault.OutOfRange, fmt.Sprintf("%d is not an id", id), "use a number above 0, or leave it out")
	}
}

// principal checks a principal and drops an empty one.
func (r *resolver) principal(at string, p *Principal) *Principal {
	if p == nil {
		return nil
	}
	q := *p
	r.positive(at+".agent_id", q.AgentID)
	r.positive(at+".owner_id", q.OwnerID)
	r.positive(at+".token_id", q.TokenID)
	q.Capabilities = nil
	for _, c := range p.Capabilities {
		if c = strings.TrimSpace(c); c != "" {
			q.Capabilities = append(q.Capabilities, c)
		}
	}
	r.faults.Names(at+".capabilities", q.Capabilities)
	r.faults.OptionalObject(at+".scope", q.Scope)
	scope, _ := rawObject(q.Scope)
	if len(scope) == 0 {
		q.Scope = nil
	}
	if q.AgentID == 0 && q.OwnerID == 0 && q.TokenID == 0 && q.Capabilities == nil && q.Scope == nil {
		return nil
	}
	return &q
}

func (r *resolver) prepareBundles(ctx context.Context, list []bundle, res *Resolved) error {
	for _, v := range list {
		dir := filepath.Join(r.req.Dir, "bundles", v.res.Slug)
		inner, digest, err := r.stage(ctx, v, dir)
		if err != nil {
			return fmt.Errorf("%s: agent bundle %s: %w", v.at, v.res.Slug, err)
		}
		v.res.Digest = digest
		v.res.Source = path.Join(BundlesDir, v.res.Slug, inner)
		res.Mounts = append(res.Mounts, Mount{Source: dir, Target: path.Join(BundlesDir, v.res.Slug), ReadOnly: true})
		res.Bundles = append(res.Bundles, v.res)
	}
	if len(list) == 0 {
		return nil
	}
	return r.indexBundles(res)
}

// indexBundles writes the description of the bundles for the agent. It does not reveal their location on the machine.
func (r *resolver) indexBundles(res *Resolved) error {
	told := slices.Clone(res.Bundles)
	for i := range told {
		told[i].RequestedSource = ""
	}
	data, err := json.Marshal(told)
	if err != nil {
		return fmt.Errorf("list the agent bundles: %w", err)
	}
	file := filepath.Join(r.req.Dir, bundlesIndex)
	if err := atomicfile.WriteFile(file, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("list the agent bundles: %w", err)
	}
	res.Mounts = append(res.Mounts, Mount{Source: file, Target: BundlesFile, ReadOnly: true})
	return nil
}

// stage copies a bundle to dir and returns its place in it, "" for the directory itself.
func (r *resolver) stage(ctx context.Context, v bundle, dir string) (inner, digest string, err error) {
	data := []byte(v.b.Bundle)
	inner = inlineFile
	if v.source != "" {
		fi, err := os.Stat(v.source)
		if err != nil {
			return "", "", Plain(err)
		}
		if fi.IsDir() {
			digest, err := r.copyDir(ctx, v.at, v.source, dir)
			return "", digest, err
		}
		inner = filepath.Base(v.source)
		if data, err = readFile(v.source); err != nil {
			return "", "", err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", "", err
	}
	if err := atomicfile.WriteFile(filepath.Join(dir, inner), data, 0o644); err != nil {
		return "", "", err
	}
	m, err := workspace.Snapshot(ctx, dir, nil)
	if err != nil {
		return "", "", err
	}
	return inner, m.Digest(), nil
}

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBundleFile+1))
	if err == nil && len(data) > maxBundleFile {
		err = fmt.Errorf("%s has more than %d bytes", name, maxBundleFile)
	}
	return data, err
}

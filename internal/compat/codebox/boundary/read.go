package boundary

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
)

// Read reads a request, plain or wrapped, strictly: an error carries every fault as fault.Faults and repeats nothing
// that looks like a credential. The result is normalised: each member has one spelling, the entries of a profile come
// before the request's own, and what the request leaves out has its default.
func Read(data []byte) (codebox.TaskRequest, error) {
	req, err := read(data)
	if err != nil {
		return codebox.TaskRequest{}, mask(err)
	}
	normalise(&req)
	return req, nil
}

func read(data []byte) (codebox.TaskRequest, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	_ = json.Unmarshal(data, &head) // the strict reader reports what is wrong with it
	switch head.Schema {
	case codebox.SchemaHeadlessRequest:
		return codebox.TaskRequest{}, fault.Faults{{
			Path: "$.schema", Code: fault.WrongSchema, Message: "headless requests are not accepted here",
			Remedy: "send its task_input with the placement fields as " + codebox.SchemaTaskInput,
		}}
	case codebox.SchemaRequest:
		w, err := schema.Decode[codebox.WrappedRequest](codebox.SchemaRequest, data)
		if err != nil {
			return codebox.TaskRequest{}, err
		}
		return unwrap(w), nil
	}
	return schema.Decode[codebox.TaskRequest](codebox.SchemaTaskInput, data)
}

// unwrap moves the data of the wrapper into the task input. A valid wrapper contradicts nothing in it.
func unwrap(w codebox.WrappedRequest) codebox.TaskRequest {
	r := w.TaskInput
	r.Origins = codebox.Wrapped()
	if r.ArtifactsPath == "" && w.ArtifactsPath != "" {
		r.ArtifactsPath, r.Origins = w.ArtifactsPath, codebox.Wrapped("artifacts_path")
	}
	r.SandboxSessionID = cmp.Or(r.SandboxSessionID, w.TaskID)
	if r.CallbackData.Null() {
		r.CallbackData = w.CallbackData
	}
	return r
}

// mask removes from faults what may be a credential: even a path can contain one, as the name of a member.
func mask(err error) error {
	fs := slices.Clone(fault.Of(err))
	if fs == nil {
		return err
	}
	for i := range fs {
		f := &fs[i]
		f.Path, f.Message, f.Remedy = codebox.MaskCredentials(f.Path), codebox.MaskCredentials(f.Message), codebox.MaskCredentials(f.Remedy)
	}
	return fs
}

// normalise converts a valid request to its one form.
func normalise(r *codebox.TaskRequest) {
	r.Version = codebox.TaskInputVersion
	r.Goal = strings.TrimSpace(r.Goal)
	r.Agent, r.Mode = cmp.Or(r.Agent, codebox.DefaultAgent), cmp.Or(r.Mode, codebox.DefaultMode)
	r.AllowedTools, r.ExpectedArtifacts = distinct(r.AllowedTools), distinct(r.ExpectedArtifacts)
	r.Code, r.CodeFile = nil, nil
	r.StagedFiles, r.StagedFilesAlias = append(r.StagedFiles, r.StagedFilesAlias...), nil
	if p := r.SandboxToolPolicy; p == nil || p.Empty() {
		deny := codebox.DefaultDeny()
		r.SandboxToolPolicy = &deny
	}
	for i := range r.StructuredArtifacts {
		normaliseArtifact(&r.StructuredArtifacts[i])
	}
	mergeLists(r)
	for i := range r.AgentBundles {
		normaliseBundle(&r.AgentBundles[i])
	}
	for i := range r.ComponentContracts {
		normaliseComponent(&r.ComponentContracts[i])
	}
	for i := range r.ProviderPlugins {
		normalisePlugin(&r.ProviderPlugins[i])
	}
	for i := range r.ExtraPlugins {
		normalisePlugin(&r.ExtraPlugins[i])
	}
	for i := range r.Workspaces {
		w := &r.Workspaces[i]
		w.Target = w.EffectiveTarget()
		w.Mode, w.SourceMode = cmp.Or(w.Mode, codebox.ModeReadwrite), cmp.Or(w.SourceMode, codebox.RepoBacked)
	}
	for i := range r.Mounts {
		r.Mounts[i].Mode = cmp.Or(r.Mounts[i].Mode, codebox.ModeReadwrite)
	}
	for i := range r.RuntimeStackMounts {
		r.RuntimeStackMounts[i].Mode = codebox.ModeReadonly
	}
}

// mergeLists moves the entries of the profile and the mounts of every kind into the request's own lists: first the
// profile's, then the request's, then what the task requires. The original position of each entry is kept for the
// faults that users of these lists report.
func mergeLists(r *codebox.TaskRequest) {
	if r.Origins == nil {
		r.Origins = codebox.Origins{}
	}
	o, root := r.Origins, r.Origins.Root()
	p, at := codebox.RuntimeProfile{}, root+".runtime_profile"
	if given := r.RuntimeProfile; given != nil {
		p = *given
	}
	if given := r.RuntimeProfileAlias; given != nil {
		p, at = *given, root+".runtimeProfile"
	}
	r.RuntimeProfile, r.RuntimeProfileAlias = nil, nil

	env := map[string]string{}
	for _, given := range []map[string]string{p.Env, r.RuntimeEnv, r.RuntimeEnvAlias, {codebox.EnvAgentRuntime: "1"}} {
		maps.Copy(env, given)
	}
	r.RuntimeEnv, r.RuntimeEnvAlias = env, nil

	mergePlugins(r, p, at)
	r.RuntimeOverlays = merge(o, "runtime_overlays", from(at+".overlays", p.Overlays), from(at+".runtime_overlays", p.RuntimeOverlays), from(root+".runtime_overlays", r.RuntimeOverlays))
	r.RuntimeStackMounts = merge(
		o, "runtime_stack_mounts",
		from(at+".runtime_stack_mounts", p.RuntimeStackMounts), from(at+".runtime_config_mounts", p.RuntimeConfigMounts), from(at+".runtime_state_mounts", p.RuntimeStateMounts),
		from(root+".runtime_stack_mounts", r.RuntimeStackMounts),
		from(root+".runtime_config_mounts", r.RuntimeConfigMounts), from(root+".runtimeConfigMounts", r.RuntimeConfigMountsAlias),
		from(root+".runtime_state_mounts", r.RuntimeStateMounts), from(root+".runtimeStateMounts", r.RuntimeStateMountsAlias),
	)
	r.RuntimeConfigMounts, r.RuntimeConfigMountsAlias, r.RuntimeStateMounts, r.RuntimeStateMountsAlias = nil, nil, nil, nil
	single := part[codebox.AgentBundle]{}
	if r.AgentBundle != nil {
		single = part[codebox.AgentBundle]{[]string{root + ".agent_bundle"}, []codebox.AgentBundle{*r.AgentBundle}}
	}
	r.AgentBundles, r.AgentBundle = merge(o, "agent_bundles", single, from(root+".agent_bundles", r.AgentBundles)), nil
}

// mergePlugins merges the lists of components and plugins.
func mergePlugins(r *codebox.TaskRequest, p codebox.RuntimeProfile, at string) {
	o, root := r.Origins, r.Origins.Root()
	r.ProviderPlugins = merge(o, "provider_plugins", from(at+".provider_plugins", p.ProviderPlugins), from(root+".provider_plugins", r.ProviderPlugins))
	r.ComponentContracts = merge(o, "component_contracts", from(at+".component_contracts", p.ComponentContracts), from(root+".component_contracts", r.ComponentContracts))
	for i := range p.MUPlugins {
		p.MUPlugins[i].LoadAs = codebox.LoadMUPlugin
	}
	required := part[codebox.PluginSource]{}
	if q := r.RuntimeRequirements; q != nil {
		required = from(root+".runtime_requirements.extra_plugins", q.ExtraPlugins)
	}
	r.ExtraPlugins, r.RuntimeRequirements = merge(
		o, "extra_plugins", from(at+".mu_plugins", p.MUPlugins), from(at+".extra_plugins", p.ExtraPlugins), from(at+".plugins", p.Plugins),
		from(root+".extra_plugins", r.ExtraPlugins), required,
	), nil
}

// A part is some entries of a list, with the position that each had.
type part[T any] struct {
	at      []string
	entries []T
}

func from[T any](at string, entries []T) part[T] {
	p := part[T]{entries: entries}
	for i := range entries {
		p.at = append(p.at, fault.Index(at, i))
	}
	return p
}

// merge joins parts to one list.
func merge[T any](o codebox.Origins, list string, parts ...part[T]) []T {
	var out []T
	for _, p := range parts {
		out = append(out, p.entries...)
		if len(p.at) > 0 {
			o[list] = append(o[list], p.at...)
		}
	}
	return out
}

func normaliseBundle(b *codebox.AgentBundle) {
	b.OnConflict = cmp.Or(b.OnConflict, codebox.ConflictUpgrade)
	if p := b.ImportPrincipal; p != nil {
		for _, id := range []*evidence.Value{&p.AgentID, &p.OwnerID, &p.TokenID} {
			if n, ok := id.Positive(); ok {
				*id = evidence.Value(strconv.FormatInt(n, 10))
			}
		}
	}
}

func normaliseArtifact(a *evidence.StructuredArtifact) {
	a.Schema = evidence.SchemaStructuredArtifact
	for _, alias := range []*evidence.Value{&a.PayloadSchemaAlias, &a.ArtifactSchema, &a.ArtifactSchemaAlias} {
		if a.PayloadSchema.Null() {
			a.PayloadSchema = *alias
		}
		*alias = nil
	}
	if len(a.Metadata) == 0 {
		a.Metadata = json.RawMessage(`{}`)
	}
	p := evidence.ArtifactProvenance{}
	if a.Provenance != nil {
		p = *a.Provenance
	}
	p.Direction = evidence.DirectionInput
	a.Provenance = &p
}

func normaliseComponent(c *codebox.ComponentContract) {
	c.Slug = cmp.Or(c.Slug, c.Component, c.Name)
	c.SourceRoot = cmp.Or(c.SourceRoot, c.SourceRootAlias)
	c.SourceSubpath = cmp.Or(c.SourceSubpath, c.SourceSubpathAlias)
	c.Path = cmp.Or(c.Path, c.Source)
	if c.Path == "" {
		c.Path = path.Join(c.SourceRoot, c.SourceSubpath)
	}
	c.PluginFile = cmp.Or(c.PluginFile, c.PluginFileAlias)
	c.LoadAs = cmp.Or(c.LoadAs, codebox.LoadMUPlugin)
	c.Component, c.Name, c.Source, c.SourceRootAlias, c.SourceSubpathAlias, c.PluginFileAlias = "", "", "", "", "", ""
}

func normalisePlugin(p *codebox.PluginSource) {
	p.Source = cmp.Or(p.Source, p.Path)
	p.PluginFile = cmp.Or(p.PluginFile, p.PluginFileAlias)
	p.LoadAs = cmp.Or(p.LoadAs, codebox.LoadPlugin)
	p.Path, p.PluginFileAlias = "", ""
	if p.Activate == nil {
		yes := true
		p.Activate = &yes
	}
}

// TaskInput returns the part of a request that an envelope returns to the caller.
func TaskInput(r codebox.TaskRequest) codebox.TaskInput {
	t := codebox.TaskInput{
		Schema: codebox.SchemaTaskInput, Version: codebox.TaskInputVersion, Goal: r.Goal, Target: object(r.Target),
		AllowedTools: list(r.AllowedTools), ExpectedArtifacts: list(r.ExpectedArtifacts), StructuredArtifacts: list(r.StructuredArtifacts),
		StagedFiles: r.StagedFiles, AgentBundles: r.AgentBundles,
		ToolBridge: object(r.ToolBridge), ParentToolBridge: object(r.ParentToolBridge), SandboxToolPolicy: codebox.DefaultDeny(),
		Policy: object(r.Policy), Context: object(r.Context),
	}
	if p := r.SandboxToolPolicy; p != nil && !p.Empty() {
		t.SandboxToolPolicy = *p
	}
	return t
}

// object returns a JSON object, empty for anything else.
func object(raw json.RawMessage) json.RawMessage {
	if !fault.IsObject(raw) {
		return json.RawMessage(`{}`)
	}
	return bytes.TrimSpace(raw)
}

// list returns a list that is encoded as [] when it is empty.
func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

func distinct(in []string) []string {
	var out []string
	for _, s := range in {
		if s = strings.TrimSpace(s); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

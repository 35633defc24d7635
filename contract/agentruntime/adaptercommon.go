package agentruntime

import "slices"

// A Common is what adapters of different kinds share, for code that works with any of them. What a kind does not have
// is empty.
type Common struct {
	ID         string
	Command    string
	WorkingDir string
	TimeoutMS  int64
	EnvFile    string
	Env        map[string]string
	ExtraArgs  []string
	Sandbox    string // as the harness is asked for it
	Model      string
	Hosts      []string // that its model needs, where the kind names them itself

	Profile       string // of the autonomy; empty: none is declared
	RequiredArgs  []string
	SettingsFiles []string // that the autonomy requires
}

// Common returns what is common of the member that is set, and the zero Common without one.
func (a AdapterConfig) Common() Common {
	s := a.shared()
	c := Common{
		ID: at(s.id), Command: at(s.command), WorkingDir: at(s.workingDir), TimeoutMS: at(s.timeoutMS), EnvFile: at(s.envFile),
		Env: at(s.env), ExtraArgs: at(s.extraArgs), Sandbox: at(s.sandbox), Model: at(s.model), Hosts: at(s.hosts),
	}
	if y := s.autonomy; y != nil {
		c.Profile, c.RequiredArgs, c.SettingsFiles = y.Profile, y.RequiredArgs, y.RequiredSettingsFiles
	}
	return c
}

// ID returns the adapter id of the member that is set.
func (a AdapterConfig) ID() string { return at(a.shared().id) }

// Kind returns the kind of the member that is set.
func (a AdapterConfig) Kind() string { return a.shared().kind }

// Paths change the paths of an adapter; one that is nil, and a path that is empty, change nothing.
type Paths struct {
	Command    func(string) string
	WorkingDir func(string) string
	EnvFile    func(string) string
	RuntimeDir func(string) string // each directory of packages
}

// WithPaths returns a copy of the adapter with its paths changed. The receiver stays as it is.
func (a AdapterConfig) WithPaths(p Paths) AdapterConfig {
	own(&a.ClaudeCode)
	own(&a.Codex)
	own(&a.HermesAgent)
	own(&a.OllamaGenerate)
	own(&a.Script)
	own(&a.ACP)
	own(&a.Command)
	own(&a.Native)
	own(&a.Opencode)
	own(&a.Packaged)
	s := a.shared()
	for _, c := range []struct {
		path   *string
		change func(string) string
	}{{s.command, p.Command}, {s.workingDir, p.WorkingDir}, {s.envFile, p.EnvFile}} {
		if c.change != nil && at(c.path) != "" {
			*c.path = c.change(*c.path)
		}
	}
	if m := a.Packaged; m != nil && p.RuntimeDir != nil {
		m.RuntimeDirs = slices.Clone(m.RuntimeDirs)
		for i, dir := range m.RuntimeDirs {
			m.RuntimeDirs[i] = p.RuntimeDir(dir)
		}
	}
	return a
}

// own gives the holder of a pointer a copy of its own.
func own[T any](p **T) {
	if *p != nil {
		v := **p
		*p = &v
	}
}

// at is what p points at.
func at[T any](p *T) T {
	if p == nil {
		var zero T
		return zero
	}
	return *p
}

// A shared points at what a member has in common with others; nil where its kind has no such thing.
type shared struct {
	kind                                  string
	schema, id, named                     *string // named is the kind as the member has it
	command, workingDir, envFile, sandbox *string
	model                                 *string
	timeoutMS                             *int64
	env                                   *map[string]string
	extraArgs, hosts                      *[]string
	autonomy                              *ClaudeCodeAutonomy // the widest form of it
}

// shared is the one place that knows where each kind keeps what it has in common with others.
func (a AdapterConfig) shared() shared {
	switch {
	case a.ClaudeCode != nil:
		m := a.ClaudeCode
		return shared{KindClaudeCode, &m.Schema, &m.AdapterID, &m.Kind, &m.Command, &m.WorkingDir, &m.EnvFile, &m.Sandbox, &m.Model, &m.TimeoutMS, &m.Env, &m.ExtraArgs, nil, m.Autonomy}
	case a.Codex != nil:
		m := a.Codex
		return shared{KindCodex, &m.Schema, &m.AdapterID, &m.Kind, &m.Command, &m.WorkingDir, &m.EnvFile, &m.Sandbox, &m.Model, &m.TimeoutMS, &m.Env, &m.ExtraArgs, nil, m.Autonomy.wide()}
	case a.HermesAgent != nil:
		m := a.HermesAgent
		return shared{KindHermesAgent, &m.Schema, &m.AdapterID, &m.Kind, &m.Command, &m.WorkingDir, &m.EnvFile, &m.Sandbox, &m.Model, &m.TimeoutMS, &m.Env, &m.ExtraArgs, nil, m.Autonomy.wide()}
	case a.OllamaGenerate != nil:
		m := a.OllamaGenerate
		return shared{kind: KindOllamaGenerate, schema: &m.Schema, id: &m.AdapterID, named: &m.Kind, model: &m.Model, timeoutMS: &m.TimeoutMS}
	case a.Script != nil:
		m := a.Script
		s := shared{KindScript, &m.Schema, &m.AdapterID, &m.Kind, &m.Command, &m.WorkingDir, &m.EnvFile, nil, nil, &m.TimeoutMS, &m.Env, &m.ExtraArgs, nil, nil}
		if m.Autonomy != nil {
			s.autonomy = &ClaudeCodeAutonomy{Profile: m.Autonomy.Profile}
		}
		return s
	case a.ACP != nil:
		m := a.ACP
		return shared{KindACP, &m.Schema, &m.AdapterID, &m.Kind, &m.Command, &m.WorkingDir, &m.EnvFile, &m.Sandbox, &m.Model, &m.TimeoutMS, &m.Env, &m.ExtraArgs, &m.Hosts, m.Autonomy.wide()}
	case a.Command != nil:
		m := a.Command
		return shared{KindCommand, &m.Schema, &m.AdapterID, &m.Kind, &m.Command, &m.WorkingDir, &m.EnvFile, nil, &m.Model, &m.TimeoutMS, &m.Env, &m.ExtraArgs, &m.Hosts, m.Autonomy.wide()}
	case a.Native != nil:
		m := a.Native
		return shared{kind: KindNative, schema: &m.Schema, id: &m.AdapterID, named: &m.Kind, envFile: &m.EnvFile, model: &m.Model, timeoutMS: &m.TimeoutMS, env: &m.Env}
	case a.Opencode != nil:
		m := a.Opencode
		return shared{KindOpencode, &m.Schema, &m.AdapterID, &m.Kind, &m.Command, &m.WorkingDir, &m.EnvFile, &m.Sandbox, &m.Model, &m.TimeoutMS, &m.Env, &m.ExtraArgs, nil, m.Autonomy.wide()}
	case a.Packaged != nil:
		m := a.Packaged
		return shared{kind: KindPackaged, schema: &m.Schema, id: &m.AdapterID, named: &m.Kind, envFile: &m.EnvFile, model: &m.Model, timeoutMS: &m.TimeoutMS, env: &m.Env, hosts: &m.Hosts}
	}
	return shared{}
}

func (y *HarnessAutonomy) wide() *ClaudeCodeAutonomy {
	if y == nil {
		return nil
	}
	return &ClaudeCodeAutonomy{Profile: y.Profile, RequiredArgs: y.RequiredArgs}
}

package codebox

import (
	"encoding/json"
	"path"
)

// Modes of a mount or a workspace.
const (
	ModeReadonly  = "readonly"
	ModeReadwrite = "readwrite"
)

// Source modes of a workspace.
const (
	RepoBacked = "repo-backed"
	SiteBacked = "site-backed"
)

// Types of a workspace seed.
const (
	SeedDirectory      = "directory"       // a copy of a directory
	SeedGit            = "git"             // a git repository at a ref
	SeedBundle         = "bundle"          // a directory with the change of an evidence bundle applied
	SeedEmpty          = "empty"           // nothing
	SeedPluginScaffold = "plugin_scaffold" // a new WordPress plugin
	SeedThemeScaffold  = "theme_scaffold"  // a new WordPress theme
)

// Roots of the default targets.
const (
	WorkspaceRoot = "/workspace"
	PluginsRoot   = "/wordpress/wp-content/plugins"
	ThemesRoot    = "/wordpress/wp-content/themes"
)

// A RequestWorkspace is a directory that the agent works on. It is always a copy: the source is never written.
type RequestWorkspace struct {
	Target     string        `json:"target,omitempty" jsonschema:"minLength=1,maxLength=4096"`            // absent: see EffectiveTarget
	Mode       string        `json:"mode,omitempty" jsonschema:"enum=readonly,enum=readwrite"`            // absent: readwrite
	SourceMode string        `json:"sourceMode,omitempty" jsonschema:"enum=repo-backed,enum=site-backed"` // absent: repo-backed
	Seed       WorkspaceSeed `json:"seed"`
}

// A WorkspaceSeed says what a workspace starts from.
type WorkspaceSeed struct {
	Type         string   `json:"type" jsonschema:"enum=directory,enum=git,enum=bundle,enum=empty,enum=plugin_scaffold,enum=theme_scaffold"`
	Source       string   `json:"source,omitempty" jsonschema:"minLength=1,maxLength=4096"` // of directory and git, and the base of bundle
	Ref          string   `json:"ref,omitempty" jsonschema:"minLength=1,maxLength=512"`     // of git: a commit, a tag or a branch
	Bundle       string   `json:"bundle,omitempty" jsonschema:"minLength=1,maxLength=4096"` // of bundle: the evidence bundle's directory
	Slug         string   `json:"slug,omitempty" jsonschema:"minLength=1,maxLength=128"`    // of a scaffold; elsewhere the name in the default target
	Name         string   `json:"name,omitempty" jsonschema:"minLength=1,maxLength=512"`    // of a scaffold: the name that people read
	History      string   `json:"history,omitempty" jsonschema:"enum=full,enum=none"`       // how much of a repository's history the agent gets: absent or full: what the base commit reaches; none: one commit
	ExcludePaths []string `json:"excludePaths,omitempty"`                                   // below the source, and in its history: a path with all below it, or a prefix that ends in *
}

// EffectiveTarget returns where the agent sees the workspace: its target, or the place that goes with its seed, or ""
// when neither is known.
func (w RequestWorkspace) EffectiveTarget() string {
	if w.Target != "" {
		return w.Target
	}
	slug, root := w.Seed.Slug, WorkspaceRoot
	switch w.Seed.Type {
	case SeedPluginScaffold:
		root = PluginsRoot
	case SeedThemeScaffold:
		root = ThemesRoot
	default:
		if slug == "" && w.Seed.Source != "" {
			slug = path.Base(path.Clean(w.Seed.Source))
		}
	}
	if slug == "" || slug == "/" || slug == "." {
		return ""
	}
	return root + "/" + slug
}

// A RequestMount is a directory or a file of the caller's that the agent sees.
type RequestMount struct {
	Source           string          `json:"source" jsonschema:"minLength=1,maxLength=4096"`
	Target           string          `json:"target" jsonschema:"minLength=1,maxLength=4096"`
	Type             string          `json:"type,omitempty" jsonschema:"enum=directory,enum=file"`     // absent: what the source is
	Mode             string          `json:"mode,omitempty" jsonschema:"enum=readonly,enum=readwrite"` // absent: readwrite for mounts, readonly for runtime mounts
	CaptureArtifacts *bool           `json:"captureArtifacts,omitempty"`                               // false: changes are not evidence
	Phase            string          `json:"phase,omitempty" jsonschema:"enum=pre-install,enum=post-install"`
	Metadata         json.RawMessage `json:"metadata,omitempty"`
}

// A StagedFile is a file or a directory that is copied into the sandbox.
type StagedFile struct {
	Source   string          `json:"source" jsonschema:"minLength=1,maxLength=4096"`
	Target   string          `json:"target" jsonschema:"minLength=1,maxLength=4096"`
	Type     string          `json:"type,omitempty" jsonschema:"enum=directory,enum=file"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// A RuntimeOverlay replaces a library of the runtime.
type RuntimeOverlay struct {
	Kind     string          `json:"kind" jsonschema:"enum=bundled-library"`
	Library  string          `json:"library" jsonschema:"enum=php-ai-client"`
	Strategy string          `json:"strategy" jsonschema:"enum=wordpress-scoped-bundle"`
	Source   string          `json:"source" jsonschema:"minLength=1,maxLength=4096"`
	Target   string          `json:"target,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	Bundle   string          `json:"bundle,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// The one overlay that exists.
const (
	OverlayBundledLibrary = "bundled-library"
	OverlayPHPAIClient    = "php-ai-client"
	OverlayScopedBundle   = "wordpress-scoped-bundle"
)

// Ways to load a component.
const (
	LoadMUPlugin = "mu-plugin"
	LoadPlugin   = "plugin"
)

// A ComponentContract is a part of the runtime: a plugin that is there before the user's.
type ComponentContract struct {
	Slug               string          `json:"slug,omitempty" jsonschema:"minLength=1,maxLength=512"`
	Component          string          `json:"component,omitempty" jsonschema:"minLength=1,maxLength=512"` // another name of slug
	Name               string          `json:"name,omitempty" jsonschema:"minLength=1,maxLength=512"`      // another name of slug
	Path               string          `json:"path,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	Source             string          `json:"source,omitempty" jsonschema:"minLength=1,maxLength=4096"`      // another name of path
	SourceRoot         string          `json:"source_root,omitempty" jsonschema:"minLength=1,maxLength=4096"` // of a repository with several components
	SourceRootAlias    string          `json:"sourceRoot,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	SourceSubpath      string          `json:"source_subpath,omitempty" jsonschema:"minLength=1,maxLength=4096"` // below source_root
	SourceSubpathAlias string          `json:"sourceSubpath,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	OriginalSource     string          `json:"original_source,omitempty" jsonschema:"maxLength=4096"` // where the caller had it from; only recorded
	PluginFile         string          `json:"pluginFile,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	PluginFileAlias    string          `json:"plugin_file,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	LoadAs             string          `json:"loadAs,omitempty" jsonschema:"enum=mu-plugin,enum=plugin"` // absent: mu-plugin
	Activate           *bool           `json:"activate,omitempty"`
	Metadata           json.RawMessage `json:"metadata,omitempty"`
}

// A PluginSource is a plugin that is copied into the runtime.
type PluginSource struct {
	Slug            string          `json:"slug,omitempty" jsonschema:"minLength=1,maxLength=512"` // absent: the Composer name, else the directory's
	Source          string          `json:"source,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	Path            string          `json:"path,omitempty" jsonschema:"minLength=1,maxLength=4096"` // another name of source
	PluginFile      string          `json:"pluginFile,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	PluginFileAlias string          `json:"plugin_file,omitempty" jsonschema:"minLength=1,maxLength=4096"`
	LoadAs          string          `json:"loadAs,omitempty" jsonschema:"enum=mu-plugin,enum=plugin"` // absent: plugin
	Activate        *bool           `json:"activate,omitempty"`                                       // absent: true
	Metadata        json.RawMessage `json:"metadata,omitempty"`
}

// A RuntimeProfile is a set of placement fields that a caller keeps together.
type RuntimeProfile struct {
	ID                  string              `json:"id,omitempty" jsonschema:"maxLength=512"`
	Env                 map[string]string   `json:"env,omitempty"`
	Overlays            []RuntimeOverlay    `json:"overlays,omitempty"`
	RuntimeOverlays     []RuntimeOverlay    `json:"runtime_overlays,omitempty"`
	ProviderPlugins     []PluginSource      `json:"provider_plugins,omitempty"`
	ComponentContracts  []ComponentContract `json:"component_contracts,omitempty"`
	ExtraPlugins        []PluginSource      `json:"extra_plugins,omitempty"`
	Plugins             []PluginSource      `json:"plugins,omitempty"`
	MUPlugins           []PluginSource      `json:"mu_plugins,omitempty"`
	RuntimeStackMounts  []RequestMount      `json:"runtime_stack_mounts,omitempty"`
	RuntimeConfigMounts []RequestMount      `json:"runtime_config_mounts,omitempty"`
	RuntimeStateMounts  []RequestMount      `json:"runtime_state_mounts,omitempty"`
	Metadata            json.RawMessage     `json:"metadata,omitempty"`
}

// RuntimeRequirements is what a task needs of its runtime.
type RuntimeRequirements struct {
	ExtraPlugins []PluginSource `json:"extra_plugins,omitempty"` // after the request's own
}

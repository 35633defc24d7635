package codebox

import (
	"fmt"
	"strings"

	"github.com/deedrun/deed/contract/fault"
)

// SchemaComponentContractResult is the id of ComponentContractResult.
const SchemaComponentContractResult = "wp-codebox/component-contract-result/v1"

// Statuses of a component.
const (
	ComponentPrepared  = "prepared"
	ComponentMounted   = "mounted"
	ComponentActivated = "activated"
	ComponentFailed    = "failed"
)

// Activation statuses of a component.
const (
	ActivationNotRequested  = "not_requested"
	ActivationNotApplicable = "not_applicable" // an MU plugin is loaded, never activated
	ActivationPending       = "pending"
	ActivationActivated     = "activated"
	ActivationFailed        = "failed"
)

// A ComponentContractResult says what became of one requested runtime component.
type ComponentContractResult struct {
	Schema        string `json:"schema"`
	Index         int    `json:"index" jsonschema:"minimum=0"`
	Slug          string `json:"slug"`
	RequestedPath string `json:"requestedPath"`
	PreparedPath  string `json:"preparedPath,omitempty"` // relative to where the run prepares its copies
	PluginFile    string `json:"pluginFile,omitempty"`   // begins with the slug
	LoadAs        string `json:"loadAs" jsonschema:"enum=mu-plugin,enum=plugin"`
	Activate      bool   `json:"activate"`
	Target        string `json:"target,omitempty"`

	Status           string             `json:"status" jsonschema:"enum=prepared,enum=mounted,enum=activated,enum=failed"`
	ActivationStatus string             `json:"activationStatus" jsonschema:"enum=not_requested,enum=not_applicable,enum=pending,enum=activated,enum=failed"`
	Failures         []ComponentFailure `json:"failures"`
}

// A ComponentFailure is one reason why a component is not usable.
type ComponentFailure struct {
	Phase   string `json:"phase" jsonschema:"enum=prepare,enum=load,enum=activate"`
	Code    string `json:"code,omitempty"`
	Message string `json:"message"`
	Remedy  string `json:"remedy,omitempty"`
}

// Phases of a component failure.
const (
	ComponentPhasePrepare  = "prepare"
	ComponentPhaseLoad     = "load" // it kept WordPress from starting; MU plugins are loaded and never activated
	ComponentPhaseActivate = "activate"
)

// Validate returns every fault of the record. A component that failed may lack what it was to be made of; one that
// did not has all of it.
func (c ComponentContractResult) Validate() error {
	var l fault.List
	if c.Schema != SchemaComponentContractResult {
		l.Add("$.schema", fault.WrongSchema, fmt.Sprintf("%.80q is not the schema of this record", c.Schema), fmt.Sprintf("write %q", SchemaComponentContractResult))
	}
	l.Between("$.index", int64(c.Index), 0, 1<<31-1)
	fault.OneOf(&l, "$.loadAs", c.LoadAs, LoadMUPlugin, LoadPlugin)
	fault.OneOf(&l, "$.status", c.Status, ComponentPrepared, ComponentMounted, ComponentActivated, ComponentFailed)
	fault.OneOf(&l, "$.activationStatus", c.ActivationStatus, ActivationNotRequested, ActivationNotApplicable, ActivationPending, ActivationActivated, ActivationFailed)
	for i, f := range c.Failures {
		at := fault.Index("$.failures", i)
		fault.OneOf(&l, at+".phase", f.Phase, ComponentPhasePrepare, ComponentPhaseLoad, ComponentPhaseActivate)
		l.Say(at+".message", f.Message)
	}
	if c.Status == ComponentFailed {
		if len(c.Failures) == 0 {
			l.Add("$.failures", fault.Conflict, "is empty, and the status is failed", "say what failed")
		}
		return l.Err()
	}
	l.Name("$.slug", c.Slug)
	l.Path("$.requestedPath", c.RequestedPath)
	l.RelativePath("$.preparedPath", c.PreparedPath)
	l.Path("$.target", c.Target)
	if len(c.Failures) > 0 {
		l.Add("$.failures", fault.Conflict, fmt.Sprintf("has entries, and the status is %s", c.Status), "use the status failed")
	}
	if (c.Status == ComponentActivated) != (c.ActivationStatus == ActivationActivated) {
		l.Add("$.activationStatus", fault.Conflict, fmt.Sprintf("%s contradicts the status %s", c.ActivationStatus, c.Status), "let both say activated, or none")
	}
	if c.LoadAs == LoadMUPlugin && c.ActivationStatus != ActivationNotApplicable {
		l.Add("$.activationStatus", fault.Conflict, "is not not_applicable, and the component is an MU plugin", "MU plugins are loaded, never activated")
	}
	if c.PluginFile != "" {
		l.RelativePath("$.pluginFile", c.PluginFile)
		if !strings.HasPrefix(c.PluginFile, c.Slug+"/") {
			l.Add("$.pluginFile", fault.Conflict, fmt.Sprintf("%.80q is not below the slug", c.PluginFile), "begin it with the slug and a slash")
		}
	}
	return l.Err()
}

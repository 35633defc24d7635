package providertask

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/agent/runtimepkg"
)

// PackageUnavailable is the code of a refusal: the package of a command does not exist, or is not the requested one.
const PackageUnavailable = "agent_task.runtime_package_unavailable"

// Command makes the request of a runtime command, for Prepare and Run. The package must be the requested one, and
// exactly one of its providers must declare that it runs commands: without that, a provider might take the command
// for a prompt. NotStarted turns the error into an outcome.
func (s *Service) Command(ctx context.Context, cmd homeboy.RuntimeCommandRequest) (runtimepkg.Request, error) {
	none := runtimepkg.Request{Request: homeboy.Request{TaskID: cmd.TaskID}}
	if err := cmd.Validate(); err != nil {
		return none, err
	}
	catalog, err := s.catalog()
	if err != nil {
		return none, &Refusal{Code: PackageUnavailable, Class: homeboy.ClassInvalidInput, Message: err.Error()}
	}
	p, _, err := catalog.Get(cmd.RuntimePackage.ID)
	if err != nil {
		return none, &Refusal{Code: PackageUnavailable, Class: homeboy.ClassInvalidInput, Message: err.Error()}
	}
	if err := s.same(ctx, p, cmd.RuntimePackage); err != nil {
		return none, err
	}
	q, err := cmd.Request()
	if err != nil {
		return none, err
	}
	var able []string
	for _, x := range catalog.Providers() {
		if x.Package == p && slices.Contains(x.Provider.Capabilities, homeboy.CapabilityRuntimeCommand) {
			able = append(able, x.Provider.ID)
			q.Executor.Backend, q.Executor.Selector = x.Provider.Backend, x.Provider.ID
		}
	}
	q.Executor.RuntimeSelection.RuntimeID = p.ID
	switch {
	case len(able) == 0:
		return none, &Refusal{
			Code: runtimepkg.CapabilityUnavailable, Class: homeboy.ClassCapabilityMissing, Message: fmt.Sprintf("no provider of the runtime package %q declares %s", p.ID, homeboy.CapabilityRuntimeCommand),
			Remedy: "use a package whose provider does", Data: map[string]any{"missing_capabilities": []string{homeboy.CapabilityRuntimeCommand}},
		}
	case len(able) > 1:
		return none, &Refusal{
			Code: runtimepkg.ProviderAmbiguous, Class: homeboy.ClassInvalidInput, Message: fmt.Sprintf("%d providers of the runtime package %q declare %s: %s", len(able), p.ID, homeboy.CapabilityRuntimeCommand, strings.Join(able, ", ")),
			Remedy: "one of them should",
		}
	}
	return runtimepkg.RequestOf(q)
}

// same compares a package with the requested version and revision.
func (s *Service) same(ctx context.Context, p *runtimepkg.Package, want homeboy.RuntimePackageRef) error {
	refuse := func(what, has, wanted string) error {
		return &Refusal{
			Code: PackageUnavailable, Class: homeboy.ClassInvalidInput, Message: fmt.Sprintf("runtime package %q has the %s %q, and runtime_package.%s is %q", p.ID, what, has, what, wanted),
			Remedy: "install that one, or leave it out",
		}
	}
	if v := p.Manifest.Version; want.Version != "" && v != want.Version {
		return refuse("version", v, want.Version)
	}
	if want.Ref == "" {
		return nil
	}
	rev, err := runtimepkg.Revision(ctx, p.Real, s.Engine.Runner.Environ)
	switch {
	case err != nil:
		return &Refusal{
			Code: PackageUnavailable, Class: homeboy.ClassInvalidInput, Message: fmt.Sprintf("runtime package %q cannot be held against runtime_package.ref %q: %v", p.ID, want.Ref, err),
			Remedy: "use a package in a git checkout or with a file .source-revision, or leave it out",
		}
	case !strings.HasPrefix(rev, want.Ref):
		return refuse("ref", rev, want.Ref)
	}
	return nil
}

package gate

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/deedrun/deed/contract/deed"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/evidence/workspace"
)

// AuditFacts are what deed itself saw of the adapter's process.
type AuditFacts struct {
	Argv     []string
	ExitCode int
}

// audit compares the adapter's account with what deed saw. An account that exists is always compared. Whether one
// must exist depends on the task.
func (v *verdict) audit(in Input) {
	required := in.Evidence.RequireAdapterAudit
	a, err := readAudit(in.Artifacts)
	if errors.Is(err, fs.ErrNotExist) {
		if required {
			v.reject(CodeAuditMissing, driver.AuditFile, "the adapter's own account is required and is not in the directory of artifacts")
		}
		return
	}
	if err != nil {
		v.reject(CodeAuditMismatch, driver.AuditFile, "the adapter's account is not readable: %v", err)
		return
	}
	if in.Audit != nil && a.ExitCode != nil && *a.ExitCode != in.Audit.ExitCode {
		v.reject(CodeAuditMismatch, driver.AuditFile, "the adapter says that it ended with exit code %d, and deed saw %d", *a.ExitCode, in.Audit.ExitCode)
	}
	if in.Audit != nil {
		for _, c := range a.Commands {
			if slices.Equal(c.Argv, in.Audit.Argv) && c.ExitCode != in.Audit.ExitCode {
				v.reject(CodeAuditMismatch, driver.AuditFile, "the adapter says that %q ended with exit code %d, and deed saw %d", strings.Join(c.Argv, " "), c.ExitCode, in.Audit.ExitCode)
			}
		}
	}
	changed := in.changed()
	said := in.named(a.FileChanges, changed)
	for _, c := range in.Changes.Of(workspace.ClassTracked) {
		if !said[c.Path] {
			v.reject(CodeAuditMismatch, c.Path, "%s was %s, and the adapter's account does not mention it", quotePath(c.Path), c.Status)
		}
	}
	for _, p := range sorted(said) {
		if !changed[p] { // changes that no patch carries may be listed, but need not be
			v.reject(CodeAuditMismatch, p, "the adapter's account says that %s changed, and it did not", quotePath(p))
		}
	}
}

func readAudit(r *os.Root) (deed.AdapterAudit, error) {
	data, err := driver.TakeFile(r, driver.AuditFile)
	if err != nil {
		return deed.AdapterAudit{}, err
	}
	return schema.Decode[deed.AdapterAudit](deed.SchemaAdapterAudit, data)
}

package apply

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/base/atomicfile"
)

// maxAuditFiles is how many files an audit line names; file_count has them all.
const maxAuditFiles = 1000

// Audit appends a line for a change that went another way than through Apply, and returns its reference.
func (a *Applier) Audit(line evidence.ApplyAudit, failed error) (string, error) {
	line.AuditReference = uuid.Must(uuid.NewV7()).String()
	if failed != nil {
		line.Error = a.failure(failed)
	}
	return line.AuditReference, a.audit(line)
}

// audit appends one line, redacted, and makes it durable.
func (a *Applier) audit(line evidence.ApplyAudit) error {
	line.Schema, line.At = evidence.SchemaApplyAudit, a.Clock().Format(time.RFC3339Nano)
	line.FileCount = len(line.ApprovedFiles)
	line.ApprovedFiles = append([]string{}, line.ApprovedFiles[:min(len(line.ApprovedFiles), maxAuditFiles)]...)
	text, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("audit: %w", err)
	}
	// A secret in a name or a message must not stay; its placeholder holds nothing that JSON would have to escape.
	text = append(a.Redact.Bytes(text), '\n')
	f, err := os.OpenFile(a.Home.ApplyAudit(), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		return atomicfile.Explain("audit", err)
	}
	if torn(f) {
		text = append([]byte("\n"), text...)
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	return atomicfile.Explain("audit", errors.Join(err, f.Close()))
}

// torn reports whether the last line lacks its end: a full disk or a crash cut it.
func torn(f *os.File) bool {
	st, err := f.Stat()
	if err != nil || st.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, st.Size()-1)
	return err == nil && last[0] != '\n'
}

// takenBack returns the lines of the applies with the beginning of an id that a crash cut short and that were taken back, one of each.
func (a *Applier) takenBack(id string) ([]evidence.ApplyAudit, error) {
	if id == "" {
		return nil, nil
	}
	f, err := os.Open(a.Home.ApplyAudit())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []evidence.ApplyAudit
	for r := bufio.NewReader(f); ; {
		text, err := r.ReadBytes('\n')
		var line evidence.ApplyAudit
		if bytes.Contains(text, []byte(id)) && json.Unmarshal(text, &line) == nil && // a torn line is none
			line.Operation == evidence.AuditRecover && line.Status == evidence.ApplyRolledBack && strings.HasPrefix(line.ApplyID, id) &&
			!slices.ContainsFunc(out, func(o evidence.ApplyAudit) bool { return o.ApplyID == line.ApplyID }) {
			out = append(out, line)
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

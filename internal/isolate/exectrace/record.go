package exectrace

import (
	"encoding/json"
	"fmt"
	"os"
)

const (
	// maxRecords and maxBytes bound a trace. A run that executes more goes on, and its trace is not complete.
	maxRecords = 100_000
	maxBytes   = 64 << 20
	// maxArgs bounds the arguments that are read, and maxShown the bytes of those that a record shows.
	maxArgs  = 1024
	maxShown = 4 << 10
)

// A record is one line of a trace: a program that was executed, an error, or the end.
type record struct {
	ID     int      `json:"id,omitempty"`
	Parent int      `json:"parent,omitempty"` // of the last program of this process, else of its nearest recorded ancestor
	PID    int      `json:"pid,omitempty"`
	Name   string   `json:"name,omitempty"` // base name of the program as it was called
	Exe    string   `json:"exe,omitempty"`  // absolute, without links
	Links  []string `json:"links,omitempty"`
	Dir    string   `json:"cwd,omitempty"`
	Argv   []string `json:"argv,omitempty"`
	Stdout string   `json:"stdout,omitempty"` // own: that of the command; other

	Scripts []source `json:"scripts,omitempty"` // what it was given to interpret
	Lost    bool     `json:"lost,omitempty"`    // the program lost rights that its file gives

	Error string `json:"error,omitempty"`
	End   bool   `json:"end,omitempty"` // the command has ended, and the trace with it
}

// A source is a file that an interpreter was given.
type source struct {
	Name  string   `json:"name,omitempty"` // what the interpreter is known as then: the base name, or the module; empty: by its own
	Path  string   `json:"path,omitempty"` // absolute, without links; empty: it was not found
	Links []string `json:"links,omitempty"`
}

const (
	ownStdout   = "own"
	otherStdout = "other"
)

// A trace file is written by the tracer alone, a line at a time.
type traceFile struct {
	f       *os.File
	records int
	bytes   int
	full    bool // the error that says so was written
	broken  bool // a write failed: with no end, the trace is not complete
}

func createTrace(path string) (*traceFile, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write the trace: %w", err)
	}
	return &traceFile{f: f}, nil
}

// write adds a record. What does not fit is left out, and the trace says so.
func (t *traceFile) write(r record) {
	if t.broken || t.full && !r.End {
		return
	}
	if !r.End && (t.records >= maxRecords || t.bytes >= maxBytes) {
		t.full = true
		r = record{Error: fmt.Sprintf("more than %d programs or %d bytes were to be recorded", maxRecords, maxBytes)}
	}
	line, err := json.Marshal(r)
	if err != nil {
		return // a record has nothing that cannot be encoded
	}
	n, err := t.f.Write(append(line, '\n'))
	t.records++
	t.bytes += n
	t.broken = err != nil
}

func (t *traceFile) fail(err error) { t.write(record{Error: err.Error()}) }

// shown shortens arguments to what a record holds.
func shown(argv []string) []string {
	room := maxShown
	for i, a := range argv {
		if room -= len(a) + 1; room < 0 {
			return append(argv[:i:i], "…")
		}
	}
	if len(argv) == maxArgs {
		return append(argv[:len(argv):len(argv)], "…")
	}
	return argv
}

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/compat/homeboy/fanout"
)

// readPlan reads a plan and refuses one whose tasks cannot be distinguished.
func (a *app) readPlan(name string) (homeboy.FanoutPlan, error) {
	data, err := a.fanoutFile(name, "")
	if err != nil {
		return homeboy.FanoutPlan{}, err
	}
	return a.planIn(name, data)
}

func (a *app) planIn(name string, data []byte) (homeboy.FanoutPlan, error) {
	var head struct {
		Schema homeboy.Value `json:"schema"`
		Tasks  homeboy.Value `json:"task_requests"`
	}
	_ = json.Unmarshal(data, &head) // the readers report what is wrong with it
	if schema, _ := head.Schema.Text(); schema == homeboy.SchemaMatrixPlan {
		m, warnings, err := homeboy.ReadMatrixPlan(data)
		if err != nil {
			return homeboy.FanoutPlan{}, inFile(name, err)
		}
		a.reportWarnings(name, warnings)
		p, err := fanout.MatrixTasks(m)
		return p, inFile(name, err)
	}
	p, warnings, err := homeboy.ReadFanoutPlan(data)
	if err != nil {
		return homeboy.FanoutPlan{}, inFile(name, err)
	}
	if head.Tasks == nil {
		return homeboy.FanoutPlan{}, inFile(name, fault.Faults{{Path: "$.task_requests", Code: fault.MissingField, Message: "is missing: this is no plan", Remedy: "make one with deed fanout plan --output"}})
	}
	a.reportWarnings(name, warnings)
	return p, inFile(name, fanout.Check(p))
}

// fanoutOptions reads what a configuration says of records; without one the contract's defaults count.
func (a *app) fanoutOptions(name string) (fanout.Options, error) {
	if name == "" {
		return fanout.Options{}, nil
	}
	data, err := a.fanoutFile(name, "")
	if err != nil {
		return fanout.Options{}, err
	}
	c, warnings, err := homeboy.ReadFanoutConfig(data)
	if err != nil {
		return fanout.Options{}, inFile(name, err)
	}
	if err := fanout.CheckConfig(c); err != nil {
		return fanout.Options{}, inFile(name, err)
	}
	a.reportWarnings(name, warnings)
	return fanout.OptionsOf(c), nil
}

func (a *app) readRecords(name string) ([]homeboy.FanoutRecord, error) {
	raw, err := a.fanoutList(name, "records")
	if err != nil {
		return nil, err
	}
	var l fault.List
	var all []homeboy.Warning
	out := make([]homeboy.FanoutRecord, 0, len(raw))
	for i, v := range raw {
		r, warnings, err := homeboy.ReadFanoutRecord(v)
		if err != nil {
			l.Within(fault.Index("$.records", i), err)
			continue
		}
		for _, w := range warnings {
			w.Path = fault.Join(fault.Index("$.records", i), w.Path)
			all = append(all, w)
		}
		out = append(out, r)
	}
	a.reportWarnings(name, all)
	return out, inFile(name, l.Err())
}

// maxFanoutInput bounds one input, which is held in memory as a whole.
const maxFanoutInput = 256 << 20

// fanoutFile reads an input whole; without a name it returns otherwise.
func (a *app) fanoutFile(name, otherwise string) ([]byte, error) {
	if name == "" {
		return []byte(otherwise), nil
	}
	in := a.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, usage(err)
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxFanoutInput+1))
	if err != nil {
		return nil, usage(fmt.Errorf("read %s: %w", inputName(name), err))
	}
	if len(data) > maxFanoutInput {
		return nil, usage(fmt.Errorf("%s has more than %d MiB; split it", inputName(name), maxFanoutInput>>20))
	}
	return data, nil
}

// fanoutList reads a list: a JSON array, JSON lines, or a document with the list as a member.
func (a *app) fanoutList(name, member string) ([]homeboy.Value, error) {
	data, err := a.fanoutFile(name, "")
	if err != nil {
		return nil, err
	}
	lines := strings.HasSuffix(name, ".jsonl") || strings.HasSuffix(name, ".ndjson")
	list, err := listIn(bytes.TrimPrefix(data, []byte("\uFEFF")), member, lines)
	return list, inFile(name, err)
}

// listIn reads a list. One object alone could be a document without its list: it is the only line of a list where the file's
// name says that there are lines.
func listIn(data []byte, member string, lines bool) ([]homeboy.Value, error) {
	if !utf8.Valid(data) {
		return nil, fault.Faults{{Path: fault.Root, Code: fault.InvalidJSON, Message: "is not UTF-8", Remedy: "write it as UTF-8"}}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	all := []homeboy.Value{}
	for {
		var v homeboy.Value
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fault.Faults{{
				Path: fault.Root, Code: fault.InvalidJSON, Message: fmt.Sprintf("is not JSON behind byte %d: %v", d.InputOffset(), err), Remedy: "write a JSON array or JSON lines",
			}}
		}
		all = append(all, v)
	}
	if len(all) != 1 {
		return all, nil
	}
	list := []homeboy.Value{}
	if json.Unmarshal(all[0], &list) == nil && !all[0].Null() {
		return list, nil
	}
	var doc map[string]homeboy.Value
	if json.Unmarshal(all[0], &doc) == nil && doc[member] != nil && json.Unmarshal(doc[member], &list) == nil {
		return list, nil
	}
	if lines && doc != nil && doc[member] == nil {
		return all, nil
	}
	return nil, fault.Faults{{Path: fault.Root, Code: fault.WrongType, Message: "is one value and no list of " + member, Remedy: "write a JSON array, or name the file .jsonl"}}
}

// inFile says which file an error is about. It is the caller's.
func inFile(name string, err error) error {
	if err == nil {
		return nil
	}
	return usage(fmt.Errorf("%s: %w", inputName(name), err))
}

func inputName(name string) string {
	switch name {
	case "":
		return "the configuration"
	case "-":
		return "standard input"
	}
	return showPath(name)
}

// shownWarnings bounds the warnings that are shown for one input.
const shownWarnings = 10

func (a *app) reportWarnings(name string, warnings []homeboy.Warning) {
	for i, w := range warnings {
		if i == shownWarnings {
			a.hint("%s %s: %d more", a.errColor.Yellow("warning:"), inputName(name), len(warnings)-i)
			return
		}
		a.hint("%s %s: %s", a.errColor.Yellow("warning:"), inputName(name), clean(w.String()))
	}
}

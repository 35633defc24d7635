package boundary

import (
	"encoding/json"
	"slices"

	"github.com/deedrun/deed/contract/codebox"
	"github.com/deedrun/deed/contract/fault"
)

// maxPasses bounds how often a request is read without what was wrong with it: a rule may only see its members once others are gone.
const maxPasses = 5

// Sound reads what is right of a request: all of it, or for one that Read refuses the request without its members that are at fault, whose
// paths it returns, too. A goal that is at fault is empty. It reports false for a text of which nothing is left.
func Sound(data []byte) (req codebox.TaskRequest, without []string, ok bool) {
	var outer, inner map[string]json.RawMessage
	if json.Unmarshal(data, &outer) != nil || outer == nil {
		return req, nil, false
	}
	var name string
	_ = json.Unmarshal(outer["schema"], &name) // anything else counts as a task input
	wrapped, root := name == codebox.SchemaRequest, fault.Root
	if inner = outer; wrapped {
		root = codebox.Wrapped().Root()
		inner = nil
		if json.Unmarshal(outer["task_input"], &inner) != nil || inner == nil {
			return req, nil, false
		}
	}
	req, err := read(data)
	for pass := 0; err != nil; pass++ {
		dropped := len(without)
		for _, f := range fault.Of(err) {
			name, rest, _ := fault.Head(f.Path)
			at, from := fault.Root, outer
			if wrapped && name == "task_input" {
				at, from = root, inner
				name, rest, _ = fault.Head(rest)
			}
			at = fault.Field(at, name)
			switch {
			case name == "" || slices.Contains(without, at):
				continue
			case f.Code == fault.DuplicateKey && rest == fault.Root: // a map holds one of them
				continue
			case name == "schema":
				from[name] = mustJSON(codebox.SchemaTaskInput)
			case name == "goal": // there is no request without one
				from[name] = mustJSON("-")
			default:
				delete(from, name)
			}
			without = append(without, at)
		}
		if pass == maxPasses || pass > 0 && len(without) == dropped {
			return codebox.TaskRequest{}, nil, false
		}
		if wrapped {
			outer["task_input"] = mustJSON(inner)
		}
		req, err = read(mustJSON(outer))
	}
	normalise(&req)
	if slices.Contains(without, fault.Field(root, "goal")) {
		req.Goal = ""
	}
	return req, without, true
}

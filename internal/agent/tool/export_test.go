package tool

import (
	"bytes"
	"context"
	"encoding/json"
)

// Do carries out a call in this process, as the host does.
func Do(dir, name, input string) (string, Outcome, error) {
	t, err := openTree(dir)
	if err != nil {
		return "", Outcome{}, err
	}
	defer t.root.Close()
	s := &server{tree: t}
	defer s.close()
	var out bytes.Buffer
	o, err := s.call(context.Background(), wireCall{Tool: name, Input: json.RawMessage(input)}, &out)
	return out.String(), o, err
}

// Patch applies a patch to one text, for the fuzzer.
func Patch(data, patch string) (string, error) {
	changes, err := parsePatch(patch)
	if err != nil {
		return "", err
	}
	after := []byte(data)
	for _, c := range changes {
		if after, err = patchText(after, c); err != nil {
			return "", err
		}
	}
	return string(after), nil
}

// ReplaceText is an edit of one text, for the fuzzer.
func ReplaceText(data, old, repl string, all bool) (string, int, error) {
	out, n, err := replaceText([]byte(data), editInput{Path: "f", Old: old, New: repl, All: all})
	return string(out), n, err
}

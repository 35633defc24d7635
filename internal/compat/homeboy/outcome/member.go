package outcome

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
	"github.com/deedrun/deed/internal/base/truncate"
)

// object returns the members of a value that is an object.
func object(v homeboy.Value) (map[string]homeboy.Value, bool) {
	if v = bytes.TrimLeft(v, " \t\r\n"); len(v) == 0 || v[0] != '{' {
		return nil, false // what is large is most often a list: it is not read to find that out
	}
	var members map[string]homeboy.Value
	if json.Unmarshal(v, &members) != nil {
		return nil, false
	}
	return members, true
}

// with returns metadata with one member set. Metadata that is no object becomes the member provider_metadata of one.
func with(metadata homeboy.Value, name string, to any) homeboy.Value {
	members, ok := object(metadata)
	switch {
	case !ok && metadata.Null():
		members = map[string]homeboy.Value{}
	case !ok:
		members = map[string]homeboy.Value{"provider_metadata": metadata}
	}
	members[name] = value(to)
	return value(members)
}

// without returns metadata without one member, and whether it had it.
func without(metadata homeboy.Value, name string) (homeboy.Value, bool) {
	members, ok := object(metadata)
	if !ok {
		return metadata, false
	}
	if _, there := members[name]; !there {
		return metadata, false
	}
	delete(members, name)
	if len(members) == 0 {
		return nil, true
	}
	return value(members), true
}

// at returns what a dotted path leads to, through objects only.
func at(v homeboy.Value, path string) (homeboy.Value, bool) {
	for _, name := range strings.Split(strings.TrimPrefix(path, "$."), ".") {
		members, ok := object(v)
		if !ok {
			return nil, false
		}
		if v, ok = members[name]; !ok {
			return nil, false
		}
	}
	return v, true
}

// substantial reports whether a value says something: not null, and no empty string, list or object.
func substantial(v homeboy.Value) bool {
	if len(v) > 64 {
		return true
	}
	switch strings.Join(strings.Fields(string(v)), "") {
	case "", "null", `""`, "[]", "{}":
		return false
	}
	return true
}

// clip shortens an untrusted text for a message.
func clip(s string) string { return truncate.Head(s, 80) }

package policy

import (
	"encoding/json"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/deedrun/deed/internal/base/canonjson"
)

// A Call is a tool call as rules see it.
type Call struct {
	Tool  string // as the agent names it
	Name  string // as deed names it; the agent's own name where deed knows none
	Known bool   // deed knows the tool

	input map[string]json.RawMessage // nil when it is not an object
	raw   json.RawMessage
	lines []string // of commands, as the agent wrote them
	parts []part
}

// The kinds of parts.
type partKind int

const (
	partNone partKind = iota // the call itself, where it names nothing
	partPath
	partHost
	partCommand
)

// A part is one thing that a call names.
type part struct {
	kind   partKind
	tool   string   // the tool that would do the same by itself, as file.write for a redirection
	text   string   // what would really be touched or run
	same   []string // the same thing under other names
	also   []string // other readings, which count for deny and ask
	opaque bool     // it cannot be read
	why    string   // with opaque
	shadow bool     // another reading of a part: only deny and ask count
}

// Read takes a call apart. Places says where the agent's paths are; see Places.
func Read(tool string, input json.RawMessage, places Places) Call {
	c := Call{Tool: tool, raw: input}
	k, ok := lookup(tool)
	c.Name, c.Known = k.name, ok
	readable := len(input) == 0 || json.Unmarshal(input, &c.input) == nil
	c.parts = k.read(&c, places, readable)
	if len(c.parts) == 0 {
		c.parts = []part{{kind: partNone}}
	}
	return c
}

// named reports whether a glob matches one of the tool's names.
func (c Call) named(glob string) bool {
	glob = lower(glob)
	return wild(glob, lower(c.Tool)) || wild(glob, c.Name)
}

// Subject is what the call is about, in one line: its paths, hosts and commands.
func (c Call) Subject() string {
	var out []string
	for _, p := range c.parts {
		if !p.shadow && p.text != "" && !slices.Contains(out, p.text) {
			out = append(out, p.text)
		}
	}
	return strings.Join(out, "; ")
}

// Digest names the call: its tool and its whole input. An approval holds for one digest. inputDigest, when the input that
// deed was shown is cut, stands for the whole.
func (c Call) Digest(inputDigest string) (string, error) {
	about := map[string]any{"tool": c.Tool}
	var v any
	switch {
	case inputDigest != "":
		about["input_digest"] = inputDigest
	case len(c.raw) == 0:
	case json.Unmarshal(c.raw, &v) == nil:
		about["input"] = json.RawMessage(c.raw)
	default:
		about["input_text"] = string(c.raw)
	}
	return canonjson.HashIn("deed/tool-call/v1", about)
}

// Scope names what an answer that holds always covers: the tool and everything that the call names, told apart by what it
// is, so that a file called "rm -rf x" is not the command. What cannot be read is known by its whole input alone.
func (c Call) Scope() (string, error) {
	parts, lines := [][]any{}, []string{}
	about := map[string]any{"tool": c.Name, "agent_tool": c.Tool}
	for _, p := range c.parts {
		if p.shadow {
			continue
		}
		parts = append(parts, []any{int(p.kind), p.tool, p.text})
		if p.kind == partNone || p.opaque {
			about["input"] = string(c.raw)
		}
	}
	for _, line := range c.lines {
		lines = append(lines, canonicalLine(line))
	}
	if c.Name == ToolShell { // where and how it runs is part of what it does
		about["dir"], about["env"] = c.strings(dirKeys...), string(c.input["env"])
	}
	about["parts"], about["lines"] = parts, lines
	return canonjson.HashIn("deed/tool-scope/v2", about)
}

// About is the call as a person is shown it, in one line: what it names, and for a shell the whole of what it would run.
func (c Call) About() string {
	if len(c.lines) == 0 {
		return c.Subject()
	}
	out, _ := envVars(c.input["env"])
	for _, line := range c.lines {
		out = append(out, strings.ReplaceAll(canonicalLine(line), "\n", " ⏎ "))
	}
	if dir := c.strings(dirKeys...); len(dir) > 0 {
		out = append(out, "(in "+dir[0]+")")
	}
	return strings.Join(out, " ")
}

// strings returns the texts that the input has under one of the keys: a text, a list of texts, or objects with such keys.
func (c *Call) strings(keys ...string) []string {
	var out []string
	for _, k := range keys {
		out = append(out, texts(c.input[k], keys, 2)...)
	}
	return out
}

func texts(raw json.RawMessage, keys []string, depth int) []string {
	var s string
	if len(raw) == 0 || depth < 0 {
		return nil
	}
	if json.Unmarshal(raw, &s) == nil {
		if s == "" {
			return nil
		}
		return []string{s}
	}
	var list []json.RawMessage
	var out []string
	if json.Unmarshal(raw, &list) == nil {
		for _, r := range list {
			out = append(out, texts(r, keys, depth-1)...)
		}
		return out
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(raw, &object) == nil {
		for _, k := range keys {
			out = append(out, texts(object[k], keys, depth-1)...)
		}
	}
	return out
}

// hostPart reads an address.
func hostPart(address string) part {
	p := part{kind: partHost, text: address, opaque: true, why: "it is no http or https address"}
	if !strings.Contains(address, "://") {
		address = "https://" + address // tools take example.com/page too
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || strings.ContainsAny(address, "\\\t\r\n") {
		return p
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}[u.Scheme]
	}
	hosts := hostNames(strings.TrimSuffix(lower(u.Hostname()), "."))
	if port == "" || len(hosts) == 0 {
		p.why = "it is no http or https address in its one spelling"
		return p
	}
	out := part{kind: partHost, text: hosts[0] + ":" + port, same: hosts[:1]}
	for _, h := range hosts[1:] {
		out.also = append(out.also, h, h+":"+port)
	}
	return out
}

// hostNames is a host as rules have it, and other names of the same. Those that a fetcher would translate first have none:
// letters beyond ASCII, escapes, and numbers that are no address as it is written (127.1, 0x7f.0.0.1).
func hostNames(host string) []string {
	if host == "" || strings.ContainsFunc(host, func(r rune) bool { return r >= 0x80 || r == '%' }) {
		return nil
	}
	addr, err := netip.ParseAddr(host)
	last := host[strings.LastIndexByte(host, '.')+1:]
	switch {
	case err != nil && (strings.Contains(host, ":") || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x")):
		return nil
	case err != nil:
		return []string{host}
	case addr.Is4In6():
		return []string{"[" + addr.String() + "]", addr.Unmap().String()}
	case addr.Is6():
		return []string{"[" + addr.String() + "]"}
	}
	return []string{addr.String()}
}

package skill

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/schema"
	"github.com/deedrun/deed/contract/settings"
	"github.com/deedrun/deed/internal/base/config"
	"github.com/deedrun/deed/internal/base/filetree"
)

// Parse reads a skill out of its files. dir is the name of its folder, which the skill's own name must equal. All faults are reported
// together, as an *Error.
func Parse(dir string, t filetree.Tree) (*Skill, error) {
	p := &parser{dir: dir, tree: t, s: &Skill{Tree: t, Digest: t.Digest()}}
	p.instructions()
	p.manifest()
	p.commands()
	p.schemas()
	p.sensors()
	p.s.Version = p.s.Metadata["version"]
	if p.s.Version == "" {
		p.s.Version = strings.TrimPrefix(p.s.Digest, "sha256:")[:12]
	}
	if fs := p.l.Faults(); len(fs) > 0 {
		return nil, &Error{Skill: dir, Faults: fs}
	}
	return p.s, nil
}

type parser struct {
	dir  string
	tree filetree.Tree
	s    *Skill
	l    fault.List
}

// addFault adds a fault of a file. Its path names the file and then the member.
func (p *parser) addFault(file, at, code, message, remedy string) {
	p.l.Add(place(file, at), code, message, remedy)
}

func (p *parser) note(file, at, message string) {
	p.s.Notes = append(p.s.Notes, fault.Fault{Path: place(file, at), Message: message})
}

func place(file, at string) string {
	if at == fault.Root {
		return file
	}
	return file + " " + at
}

// within adds the faults of a document that is a file, else the error itself.
func (p *parser) within(file string, err error) {
	if err == nil {
		return
	}
	var faults []fault.Fault
	if lines := linesOf(err); lines != nil {
		for _, f := range lines {
			if f.Line > 0 {
				f.Message = fmt.Sprintf("line %d: %s", f.Line, f.Message)
			}
			faults = append(faults, f.Fault)
		}
	} else if faults = fault.Of(err); faults == nil {
		faults = []fault.Fault{{Path: fault.Root, Code: fault.BadFormat, Message: err.Error()}}
	}
	for _, f := range faults {
		p.addFault(file, f.Path, f.Code, f.Message, f.Remedy)
	}
}

// text returns a file as text.
func (p *parser) text(name string) (string, bool) {
	f, ok := p.tree.Get(name)
	if !ok {
		return "", false
	}
	switch {
	case len(f.Data) > maxText:
		p.addFault(name, fault.Root, fault.OutOfRange, fmt.Sprintf("has %d bytes, more than %d", len(f.Data), maxText), "put what is seldom needed into files of its own")
		return "", false
	case !utf8.Valid(f.Data) || bytes.IndexByte(f.Data, 0) >= 0:
		p.addFault(name, fault.Root, fault.BadFormat, "is no text in UTF-8", "")
		return "", false
	}
	return strings.ReplaceAll(strings.TrimPrefix(string(f.Data), "\ufeff"), "\r\n", "\n"), true
}

// frontMatter is what SKILL.md may say of itself.
type frontMatter struct {
	Name          *string                    `json:"name"`
	Description   *string                    `json:"description"`
	License       *string                    `json:"license"`
	Compatibility *string                    `json:"compatibility"`
	Metadata      map[string]json.RawMessage `json:"metadata"`
	AllowedTools  json.RawMessage            `json:"allowed-tools"`
}

// instructions reads SKILL.md and AGENT.md.
func (p *parser) instructions() {
	if why := CheckName(p.dir); why != "" {
		p.l.Add(fault.Root, fault.BadFormat, "the name of the folder "+why, "use at most 64 of a-z, 0-9 and -")
	}
	text, ok := p.text(InstructionFile)
	if !ok {
		if _, there := p.tree.Get(InstructionFile); !there {
			p.addFault(InstructionFile, fault.Root, fault.MissingField, "is missing", "a skill is a folder with a "+InstructionFile)
		}
		return
	}
	head, body, err := split(text)
	if err != nil {
		p.addFault(InstructionFile, fault.Root, fault.BadFormat, err.Error(), "begin it with ---, name: and description:, and ---")
		return
	}
	p.s.Body = strings.TrimSpace(body)
	p.s.Subagent, _ = p.text(SubagentFile)
	// The line of the first --- stays as an empty one, so that lines are counted as in the file.
	raw, locate, err := config.ReadYAML(InstructionFile, []byte("\n"+head))
	if err != nil {
		p.within(InstructionFile, err)
		return
	}
	var all map[string]json.RawMessage
	var m frontMatter
	if json.Unmarshal(raw, &all) != nil {
		p.addFault(InstructionFile, fault.Root, fault.WrongType, "its front matter is no list of name: value", "")
		return
	}
	var l fault.List
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains([]string{"name", "description", "license", "compatibility", "metadata", "allowed-tools"}, name) {
			p.note(InstructionFile, fault.Field(fault.Root, name), "is not of the Agent Skills format; deed does nothing with it")
		}
	}
	take(&l, all, "name", &m.Name)
	take(&l, all, "description", &m.Description)
	take(&l, all, "license", &m.License)
	take(&l, all, "compatibility", &m.Compatibility)
	take(&l, all, "metadata", &m.Metadata)
	m.AllowedTools = all["allowed-tools"]
	p.frontMatter(&l, m)
	if err := l.Err(); err != nil {
		p.within(InstructionFile, locate(err))
	}
}

// take reads one member.
func take[T any](l *fault.List, all map[string]json.RawMessage, name string, to *T) {
	raw, ok := all[name]
	if !ok {
		return
	}
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		l.Add("$."+name, fault.WrongType, fmt.Sprintf("%.100s is not what it should be", raw), "quote text that looks like something else")
		return
	}
	*to = v
}

// split parts the front matter from the text.
func split(text string) (head, body string, err error) {
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return "", "", fmt.Errorf("has no front matter")
	}
	if strings.HasPrefix(rest, "---\n") || rest == "---" {
		return "", "", fmt.Errorf("has an empty front matter")
	}
	head, body, ok = strings.Cut(rest, "\n---\n")
	if !ok {
		if head, ok = strings.CutSuffix(rest, "\n---"); !ok {
			return "", "", fmt.Errorf("has a front matter that does not end")
		}
	}
	if len(head) > maxFrontMatter {
		return "", "", fmt.Errorf("has a front matter of %d bytes, more than %d", len(head), maxFrontMatter)
	}
	return head + "\n", body, nil
}

// nameIn is the name in the front matter of a SKILL.md, or "".
func nameIn(text string) string {
	head, _, err := split(text)
	if err != nil {
		return ""
	}
	raw, _, err := config.ReadYAML(InstructionFile, []byte(head))
	var m struct {
		Name string `json:"name"`
	}
	if err != nil || json.Unmarshal(raw, &m) != nil {
		return ""
	}
	return m.Name
}

// frontMatter checks the members and takes them over.
func (p *parser) frontMatter(l *fault.List, m frontMatter) {
	text := func(at string, v *string, most int, required bool) string {
		switch {
		case v == nil && required:
			l.Add(at, fault.MissingField, "is missing", "")
		case v == nil:
		case strings.TrimSpace(*v) == "":
			l.Add(at, fault.Blank, "is empty", "")
		case utf8.RuneCountInString(*v) > most:
			l.Add(at, fault.OutOfRange, fmt.Sprintf("has %d characters, more than %d", utf8.RuneCountInString(*v), most), "shorten it")
		default:
			l.Say(at, *v)
			return *v
		}
		return ""
	}
	if m.Name == nil {
		l.Add("$.name", fault.MissingField, "is missing", "write name: "+p.dir)
	} else if why := CheckName(*m.Name); why != "" {
		l.Add("$.name", fault.BadFormat, why, "use at most 64 of a-z, 0-9 and -")
	} else if *m.Name != p.dir {
		l.Add("$.name", fault.Conflict, fmt.Sprintf("%q is not the name of the folder, %q", *m.Name, p.dir), "give both one name")
	}
	p.s.Manifest = agentruntime.SkillManifest{
		Schema: agentruntime.SchemaSkillManifest, SkillID: p.dir, InstructionPath: InstructionFile,
		Description: text("$.description", m.Description, MaxDescription, true),
	}
	if p.s.Subagent != "" {
		p.s.Manifest.SubagentPath = SubagentFile
	}
	p.s.License = text("$.license", m.License, MaxDescription, false)
	p.s.Compatibility = text("$.compatibility", m.Compatibility, MaxCompatibility, false)
	p.s.Metadata = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(m.Metadata)) {
		var v string
		raw := m.Metadata[name]
		switch at := fault.Field("$.metadata", name); {
		case json.Unmarshal(raw, &v) == nil:
		case fault.IsObject(raw) || raw[0] == '[' || string(raw) == "null":
			l.Add(at, fault.WrongType, "is no text", "metadata are texts by name")
			continue
		default:
			v = string(raw)
			p.note(InstructionFile, at, fmt.Sprintf("is %s and no text; quote it", v))
		}
		if name == "version" {
			l.Name("$.metadata.version", v)
		}
		p.s.Metadata[name] = v
	}
	p.s.AllowedTools = tools(l, m.AllowedTools)
}

// tools reads allowed-tools: a list, or texts with spaces between them.
func tools(l *fault.List, raw json.RawMessage) []string {
	if len(raw) == 0 {
		return nil
	}
	var list []string
	var text string
	switch {
	case json.Unmarshal(raw, &list) == nil:
	case json.Unmarshal(raw, &text) == nil:
		list = strings.Fields(text)
	default:
		l.Add("$.allowed-tools", fault.WrongType, "is neither a text nor a list of texts", "write Read Bash(git:*)")
	}
	return list
}

// manifest lays deed's own manifest, when there is one, over what SKILL.md says.
func (p *parser) manifest() {
	var file string
	for _, name := range manifestFiles {
		if _, ok := p.tree.Get(name); !ok {
			continue
		}
		if file != "" {
			p.addFault(name, fault.Root, fault.Duplicate, "is there beside "+file, "keep one of them")
			return
		}
		file = name
	}
	if file == "" {
		return
	}
	text, ok := p.text(file)
	if !ok {
		return
	}
	raw, locate, err := config.ReadYAML(file, []byte(text))
	if err != nil {
		p.within(file, err)
		return
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(raw, &all) != nil {
		p.addFault(file, fault.Root, fault.WrongType, "is no list of name: value", "")
		return
	}
	base := p.s.Manifest
	// What SKILL.md lacks was said of SKILL.md already.
	for name, v := range map[string]string{"skill_id": p.dir, "description": cmp.Or(base.Description, "-"), "instruction_path": InstructionFile, "subagent_path": base.SubagentPath} {
		if _, given := all[name]; !given && v != "" {
			all[name], _ = json.Marshal(v)
		}
	}
	joined, err := json.Marshal(all)
	if err != nil {
		p.within(file, err)
		return
	}
	m, err := schema.Decode[agentruntime.SkillManifest](agentruntime.SchemaSkillManifest, joined)
	if err != nil {
		p.within(file, locate(err))
		return
	}
	var l fault.List
	for _, same := range []struct{ at, got, want string }{
		{"$.skill_id", m.SkillID, p.dir}, {"$.description", m.Description, base.Description}, {"$.instruction_path", m.InstructionPath, InstructionFile},
	} {
		if same.want != "" && same.got != same.want {
			l.Add(same.at, fault.Conflict, fmt.Sprintf("%.100q is not what %s says, %.100q", same.got, InstructionFile, same.want), "leave it out")
		}
	}
	for at, name := range map[string]string{"$.subagent_path": m.SubagentPath, "$.sensor_path": m.SensorPath} {
		if _, ok := p.tree.Get(name); name != "" && !ok {
			l.Add(at, fault.Dangling, fmt.Sprintf("%q is not in the skill", name), "")
		}
	}
	if m.SubagentPath != "" {
		p.s.Subagent, _ = p.text(m.SubagentPath)
	}
	m.Schema = agentruntime.SchemaSkillManifest
	p.s.Manifest = m
	if err := l.Err(); err != nil {
		p.within(file, locate(err))
	}
}

// schemas finds the schemas that the manifest names.
func (p *parser) schemas() {
	p.s.Input = p.schema("input_schema_id", p.s.Manifest.InputSchemaID)
	p.s.Output = p.schema("output_schema_id", p.s.Manifest.OutputSchemaID)
}

func (p *parser) schema(member, id string) json.RawMessage {
	if id == "" {
		return nil
	}
	if f, ok := p.tree.Get(id); ok {
		return p.compiled(f)
	}
	for _, f := range p.tree {
		if path.Dir(f.Path) != SchemaDir {
			continue
		}
		var doc struct {
			ID string `json:"$id"`
		}
		if json.Unmarshal(f.Data, &doc) == nil && doc.ID == id {
			return p.compiled(f)
		}
	}
	if text, ok := schema.Get(id); ok {
		return p.compiled(filetree.File{Path: id, Data: text})
	}
	p.addFault("the manifest", "$."+member, fault.Dangling, fmt.Sprintf("%q is neither a file of the skill, nor the $id of one in %s/, nor published by deed", id, SchemaDir), "")
	return nil
}

func (p *parser) compiled(f filetree.File) json.RawMessage {
	if _, err := schema.CompilePayload(f.Data); err != nil {
		p.within(f.Path, err)
		return nil
	}
	return f.Data
}

// sensors reads the sensors that the skill brings, by name.
func (p *parser) sensors() {
	file := p.s.Manifest.SensorPath
	if file == "" {
		return
	}
	text, ok := p.text(file)
	if !ok {
		return
	}
	raw, locate, err := config.ReadYAML(file, []byte(text))
	if err != nil {
		p.within(file, err)
		return
	}
	doc, err := schema.Decode[settings.Config](settings.Schema, slices.Concat([]byte(`{"sensors":`), raw, []byte("}")))
	if err != nil {
		var l fault.List
		for _, f := range fault.Of(err) {
			l.Add(strings.Replace(f.Path, "$.sensors", "$", 1), f.Code, f.Message, f.Remedy)
		}
		p.within(file, locate(l.Err()))
		return
	}
	p.s.Sensors = doc.Sensors
}

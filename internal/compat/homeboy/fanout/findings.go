package fanout

import (
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/fault"
	"github.com/deedrun/deed/contract/homeboy"
)

// findingPrefix begins the id of a task of findings whose configuration has no template.
const findingPrefix = "finding-packet"

// findingTemplate is the task of a group of findings when a configuration does not say. Its id is computed.
func findingTemplate() map[string]homeboy.Value {
	return map[string]homeboy.Value{
		"item_ids":      homeboy.Value(`"{{group.item_ids}}"`),
		"packet_ids":    homeboy.Value(`"{{group.packet_ids}}"`),
		"finding_count": homeboy.Value(`"{{group.item_count}}"`),
		"inputs":        homeboy.Value(`{"findings":"{{group.items}}"}`),
	}
}

// PlanFindings makes the tasks of a fanout over findings: every finding of every packet is an item, and those of one key
// are one task.
func PlanFindings(c homeboy.FindingFanoutConfig) (homeboy.FanoutPlan, error) {
	base := c.Base(nil)
	var l fault.List
	c.Schema = or(c.Schema, homeboy.SchemaFindingFanoutConfig)
	l.Within(fault.Root, CheckConfig(base))
	if c.FindingPolicy != nil {
		for i, path := range c.FindingPolicy.GroupBy {
			l.Say(fault.Index("$.finding_policy.group_by", i), path)
		}
	}
	policy := policyOf(c.FindingPolicy)
	items, err := policy.items(c.Packets)
	l.Within(fault.Root, err)
	if err := l.Err(); err != nil {
		return homeboy.FanoutPlan{}, err
	}
	p := planner{
		config: base, schema: c.Schema, summary: policy.summary(len(c.Packets), len(items)),
		groups: grouped(items, func(it item) string { return text(it.fields.get("group_key")) }),
	}
	p.config.Schema = c.Schema
	if p.config.TaskRequestTemplate == nil {
		p.config.TaskRequestTemplate, p.prefix = findingTemplate(), findingPrefix
	}
	return p.plan()
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// A policy is a homeboy.FindingPolicy with its defaults.
type policy struct {
	packetID, findings, findingID string
	groupBy                       []string
	template                      string
	compiled                      template // of it
	fallback                      string
	packet                        bool
}

func policyOf(f *homeboy.FindingPolicy) policy {
	if f == nil {
		f = &homeboy.FindingPolicy{}
	}
	p := policy{
		packetID: or(f.PacketIDPath, "id"), findings: or(f.FindingsPath, "findings"), findingID: or(f.FindingIDPath, "id"),
		groupBy: f.GroupBy, template: strings.TrimSpace(f.GroupKeyTemplate),
		fallback: or(strings.TrimSpace(f.FallbackGroupKey), homeboy.DefaultGroupKey), packet: f.IncludePacket == nil || *f.IncludePacket,
	}
	p.compiled = compileText(p.template)
	if len(p.groupBy) == 0 {
		p.groupBy = homeboy.DefaultGroupBy
	}
	return p
}

func (p policy) summary(packets, findings int) map[string]homeboy.Value {
	strategy := "paths"
	if p.template != "" {
		strategy = "template"
	}
	return map[string]homeboy.Value{
		"packet_count": number(packets), "finding_count": number(findings),
		"grouping": object{{"strategy", quote(strategy)}, {"paths", texts(p.groupBy)}}.write(),
	}
}

// items returns every finding of every packet, in their order.
func (p policy) items(packets []map[string]homeboy.Value) ([]item, error) {
	var l fault.List
	var out []item
	for i, packet := range packets {
		raw := values(packet).at(nil)
		id := or(firstText(at(raw, strings.Split(p.packetID, ".")), packet["packet_id"], packet["key"]), "packet-"+strconv.Itoa(i+1))
		for j, f := range p.findingsOf(raw, packet) {
			it, err := p.item(raw, id, i, f, j)
			if err != nil {
				l.Add(fault.Index("$.packets", i), fault.BadFormat, "finding "+strconv.Itoa(j)+": "+err.Error(), "look at finding_policy.group_key_template")
				continue
			}
			out = append(out, it)
		}
	}
	return out, l.Err()
}

// findingsOf finds the findings of a packet: at the configured path, or in one of the forms that packets have.
func (p policy) findingsOf(raw homeboy.Value, packet map[string]homeboy.Value) []homeboy.Value {
	for _, v := range []homeboy.Value{at(raw, strings.Split(p.findings, ".")), packet["findings"], packet["diagnostics"]} {
		if all, ok := list(v); ok {
			return all
		}
	}
	if kind(packet["finding"]) == '{' {
		return []homeboy.Value{packet["finding"]}
	}
	return nil
}

func (p policy) item(packet homeboy.Value, packetID string, packetIndex int, finding homeboy.Value, index int) (item, error) {
	f, err := parseObject(finding)
	if err != nil {
		f = object{{"value", finding}}
		finding = f.write()
	}
	id := or(firstText(at(finding, strings.Split(p.findingID, ".")), f.get("finding_id"), f.get("rule_id"), f.get("code")), "finding-"+strconv.Itoa(index+1))
	key, err := p.key(packet, finding)
	if err != nil {
		return item{}, err
	}
	o := object{
		{"id", quote(packetID + ":" + id)},
		{"packet_id", quote(packetID)},
		{"finding_id", quote(id)},
		{"index", number(index)},
		{"packet_index", number(packetIndex)},
		{"group_key", quote(key)},
		{"type", quote(firstText(f.get("type"), f.get("kind"), f.get("rule_id")))},
		{"severity", quote(text(f.get("severity")))},
		{"path", quote(firstText(f.get("path"), f.get("file")))},
		{"message", quote(firstText(f.get("message"), f.get("description")))},
		{"finding", finding},
	}
	if p.packet {
		o = append(o, member{"packet", packet})
	}
	return whole(o), nil
}

// key returns the key of a finding's group: the rendered template, or what the paths say, joined, or the fallback.
func (p policy) key(packet, finding homeboy.Value) (string, error) {
	s := scope{"packet": document(packet), "finding": document(finding)}
	if p.template != "" {
		v, err := newRenderer(s).render(p.compiled)
		return or(text(v), p.fallback), err
	}
	var parts []string
	for _, path := range p.groupBy {
		if t := text(s.value(pathOf(path))); t != "" {
			parts = append(parts, t)
		}
	}
	return or(strings.Join(parts, ":"), p.fallback), nil
}

// document is a value as a node.
type document homeboy.Value

func (w document) at(parts []string) homeboy.Value { return at(homeboy.Value(w), parts) }

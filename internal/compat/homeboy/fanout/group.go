package fanout

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/homeboy"
)

// An item is one thing that a fanout is about, as templates see it.
type item struct {
	raw    homeboy.Value
	fields object
}

// newItem gives an item its index. What is no object becomes the value of one.
func newItem(raw homeboy.Value, index int) item {
	o, err := parseObject(raw)
	if err != nil {
		if raw.Null() {
			raw = homeboy.Value("null")
		}
		o = object{{"value", raw}}
		return whole(o.with("index", number(index)))
	}
	if o.get("index") != nil || len(o) == 0 {
		return whole(o.with("index", number(index)))
	}
	// The usual case: the object is as it was, with one member more.
	t := bytes.TrimSpace(raw)
	out := make(homeboy.Value, 0, len(t)+20)
	out = append(append(append(out, t[:len(t)-1]...), `,"index":`...), number(index)...)
	return item{raw: append(out, '}'), fields: o.with("index", number(index))}
}

func whole(o object) item { return item{raw: o.write(), fields: o} }

func (i item) at(path string) homeboy.Value {
	parts := strings.Split(path, ".")
	return at(i.fields.get(parts[0]), parts[1:])
}

// id returns the first of the named members that says something, or the item's number among its own.
func (i item) id(names ...string) string {
	for _, n := range names {
		if s := text(i.fields.get(n)); s != "" {
			return s
		}
	}
	n, _ := strconv.Atoi(text(i.fields.get("index")))
	return strconv.Itoa(n + 1)
}

// A group is the items of one task. It is the node `group` of templates.
type group struct {
	key   string
	index int
	items []item
	extra homeboy.Extra // members that the configuration gave an explicit group
}

func (g *group) at(parts []string) homeboy.Value {
	if len(parts) == 0 {
		return g.write()
	}
	if parts[0] == "items" && len(parts) > 1 {
		return g.item(parts[1:])
	}
	return at(g.member(parts[0]), parts[1:])
}

// item follows a path behind group.items without writing the list.
func (g *group) item(parts []string) homeboy.Value {
	if parts[0] == "length" {
		return at(number(len(g.items)), parts[1:])
	}
	i, err := strconv.Atoi(parts[0])
	switch {
	case err != nil || i < 0 || i >= len(g.items) || strconv.Itoa(i) != parts[0]:
		return nil
	case len(parts) == 1:
		return g.items[i].raw
	}
	return at(g.items[i].fields.get(parts[1]), parts[2:])
}

func (g *group) member(name string) homeboy.Value {
	switch name {
	case "key":
		return quote(g.key)
	case "index":
		return number(g.index)
	case "items":
		return g.list()
	case "item_count":
		return number(len(g.items))
	case "item_ids":
		return texts(g.ids("id", "key"))
	case "finding_ids":
		return texts(g.ids("finding_id", "id"))
	case "packet_ids":
		return texts(g.packets())
	}
	return g.extra[name]
}

func (g *group) ids(names ...string) []string {
	out := make([]string, len(g.items))
	for i, it := range g.items {
		out[i] = it.id(names...)
	}
	return out
}

func (g *group) packets() []string {
	var out []string
	seen := map[string]bool{}
	for _, it := range g.items {
		if s := text(it.fields.get("packet_id")); s != "" && !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

func (g *group) list() homeboy.Value {
	var out bytes.Buffer
	out.WriteByte('[')
	for i, it := range g.items {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(it.raw)
	}
	out.WriteByte(']')
	return out.Bytes()
}

func (g *group) write() homeboy.Value {
	o := object{{"key", g.member("key")}, {"index", g.member("index")}, {"items", g.list()}}
	for name, v := range g.extra {
		o = o.with(name, v)
	}
	slices.SortFunc(o[3:], func(a, b member) int { return strings.Compare(a.name, b.name) })
	return o.write()
}

// groupsOf returns the groups of a configuration: those that it names, or the items by their keys in first-seen order.
func groupsOf(c homeboy.FanoutConfig) []*group {
	if len(c.Groups) > 0 {
		return explicitGroups(c.Groups)
	}
	path := c.GroupKeyPath
	if path == "" {
		path = homeboy.DefaultGroupKeyPath
	}
	all := make([]item, len(c.Items))
	for i, raw := range c.Items {
		all[i] = newItem(raw, i)
	}
	return grouped(all, func(it item) string {
		key := firstText(it.at(path), it.fields.get("groupKey"), it.fields.get("kind"), it.fields.get("id"))
		if key == "" {
			return homeboy.DefaultGroupKey
		}
		return key
	})
}

func explicitGroups(named []homeboy.FanoutGroup) []*group {
	out := make([]*group, len(named))
	for i, n := range named {
		g := &group{key: strings.TrimSpace(n.Key), index: i, extra: n.Extra}
		if g.key == "" {
			g.key = "group-" + strconv.Itoa(i+1)
		}
		for j, raw := range n.Items {
			g.items = append(g.items, newItem(raw, j))
		}
		out[i] = g
	}
	return out
}

func grouped(all []item, key func(item) string) []*group {
	var out []*group
	by := map[string]*group{}
	for _, it := range all {
		k := key(it)
		g := by[k]
		if g == nil {
			g = &group{key: k, index: len(out)}
			by[k] = g
			out = append(out, g)
		}
		g.items = append(g.items, it)
	}
	return out
}

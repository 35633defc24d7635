package exectrace

import "slices"

// supersede drops the programs of earlier records that this record's process executes again: a script that the kernel has
// its interpreter execute, and that interpreter when it was found by env or by a shim. The last of them counts, because
// what came between is the launcher's and not the program's.
func (t *tree) supersede(n *node) {
	for _, s := range n.of {
		for p := n.parent; p != nil && p.PID == n.PID; p = p.parent {
			for i, earlier := range p.of {
				if earlier.Path == s.Path {
					p.gone[i] = true
				}
			}
		}
	}
}

// lead marks the ancestors of a program as leading to one.
func (t *tree) lead(n *node) {
	if trivial[n.Name] && len(n.of) == 0 {
		return
	}
	for p := n.parent; p != nil && !p.leads; p = p.parent {
		p.leads = true
	}
}

// programs returns what a record has of the tree. at is the index that the first gets.
func (t *tree) programs(n *node, at int) []Program {
	var list []Program
	parent := -1
	for i, s := range n.of {
		if n.gone[i] {
			continue
		}
		first := n.origin(s)
		if parent < 0 {
			parent = first.above()
		}
		under := first.under()
		n.index = at + len(list)
		list = append(list, Program{
			Path: s.Path, Links: n.linksTo(s), Argv: n.Argv, Parent: parent, Under: under, Leads: n.leads, Captured: n.Stdout != ownStdout,
		})
		parent = n.index // an interpreter of the tree, and its script
	}
	return list
}

// origin returns the first record of the process that executes a program: what came between is its launcher.
func (n *node) origin(s source) *node {
	first := n
	for p := n.parent; p != nil && p.PID == n.PID; p = p.parent {
		for _, earlier := range p.of {
			if earlier.Path == s.Path {
				first = p
			}
		}
	}
	return first
}

// linksTo returns the links by which the process came to a program: those of the records that it superseded, too.
func (n *node) linksTo(s source) []string {
	list := slices.Clone(s.Links)
	for p := n.parent; p != nil && p.PID == n.PID; p = p.parent {
		for _, earlier := range p.of {
			if earlier.Path == s.Path {
				list = append(list, earlier.Links...)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// above returns the index of the nearest ancestor that is a program.
func (n *node) above() int {
	for p := n.parent; p != nil; p = p.parent {
		if p.index >= 0 {
			return p.index
		}
	}
	return -1
}

// under lists the names of the ancestors that are not of the tree. One that runs as several programs after each other, such
// as npm by env by node, is there once.
func (n *node) under() []string {
	var list []string
	for p := n.parent; p != nil; p = p.parent {
		if p.inTree {
			continue
		}
		if name := p.known(); len(list) == 0 || list[len(list)-1] != name {
			list = append(list, name)
		}
	}
	return list
}

// known returns what a program is known as: an interpreter by what it was given that is not of the tree.
func (n *node) known() string {
	if n.foreign != "" {
		return n.foreign
	}
	return n.Name
}

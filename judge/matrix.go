package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A matrix counts outcomes in total and by each of the ways to group them.
type matrix struct {
	Total  *tally            `json:"total"`
	Groups map[string]groups `json:"groups"` // by ecosystem, kind, form and set
}

type groups map[string]*tally

// dimensions are the ways to group outcomes, in the order in which they are printed.
var dimensions = []struct {
	name string
	of   func(outcome) string
}{
	{"form", func(o outcome) string { return o.Form }},
	{"ecosystem", func(o outcome) string { return o.System }},
	{"kind", func(o outcome) string { return o.Kind }},
	{"set", func(o outcome) string { return o.Set }},
	{"grade", func(o outcome) string { return o.Grade }},
}

// count makes the matrix of outcomes.
func count(all []outcome) matrix {
	m := matrix{Total: newTally(), Groups: map[string]groups{}}
	for _, d := range dimensions {
		g := groups{}
		for _, o := range all {
			key := d.of(o)
			if key == "" {
				continue
			}
			if g[key] == nil {
				g[key] = newTally()
			}
			g[key].add(o)
		}
		for _, t := range g {
			t.finish()
		}
		if len(g) > 0 {
			m.Groups[d.name] = g
		}
	}
	for _, o := range all {
		m.Total.add(o)
	}
	m.Total.finish()
	return m
}

// table writes the matrix as tables. A column such as "accept>rej" counts the trials labelled accept that were rejected.
func (m matrix) table(w io.Writer) {
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', tabwriter.AlignRight)
	for _, d := range dimensions {
		g := m.Groups[d.name]
		if g == nil {
			continue
		}
		heading(t, "by "+d.name)
		for _, key := range slices.Sorted(maps.Keys(g)) {
			row(t, key, g[key])
		}
		fmt.Fprintln(t)
		_ = t.Flush()
	}
	heading(t, "in total")
	row(t, "all", m.Total)
	_ = t.Flush()
}

func heading(w io.Writer, name string) {
	fmt.Fprintln(w, name+"\ttrials\taccept>acc\t>rej\t>asked\treject>rej\t>acc\t>asked\task>asked\t>rej\t>acc\terror\tfalse accepts\t95 %\tfalse rejects\t95 %\tasked\tunasked\tunseen\t")
}

func row(w io.Writer, name string, t *tally) {
	n := func(label, verdict string) int { return t.Verdicts[label][verdict] }
	fmt.Fprintf(
		w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", name, t.Trials,
		n(labelAccept, accepted), n(labelAccept, rejected), n(labelAccept, asked),
		n(labelReject, rejected), n(labelReject, accepted), n(labelReject, asked),
		n(labelAsk, asked), n(labelAsk, rejected), n(labelAsk, accepted), t.Errors,
		t.FalseAccepts.share(), t.FalseAccepts.bounds(), t.FalseRejects.share(), t.FalseRejects.bounds(), percent(t.Asked, t.Trials-t.Errors),
		t.Unasked.share(), t.Unseen.share(),
	)
}

func (i interval) share() string {
	if i.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d %.1f%%", i.Count, i.Of, 100*i.Share)
}

func (i interval) bounds() string {
	if i.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f–%.1f", 100*i.Low, 100*i.High)
}

func percent(n, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f%%", 100*float64(n)/float64(of))
}

// listWrong names every wrong verdict with the reasons that deed gave, and what is known of it.
func listWrong(w io.Writer, all []outcome, known knownFaults) {
	for _, s := range []string{falseAccept, falseReject, unasked, notAsked, askedFor, unseen, noVerdict} {
		n := 0
		for _, o := range all {
			if o.Score != s {
				continue
			}
			if n++; n == 1 {
				fmt.Fprintf(w, "\n%s\n", s)
			}
			fmt.Fprintf(w, "  %s (%s, %s)%s\n", o.Trial, o.Kind, o.System, known.remark(o))
			for _, r := range o.Reasons {
				fmt.Fprintf(w, "      %s\n", r)
			}
			if o.Error != "" {
				fmt.Fprintf(w, "      %s\n", o.Error)
			}
		}
	}
}

// listSlow names the trials that took longest.
func listSlow(w io.Writer, all []outcome, took time.Duration) {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b outcome) int { return int(b.MS - a.MS) })
	var sum int64
	for _, o := range all {
		sum += o.MS
	}
	var names []string
	for _, o := range sorted[:min(5, len(sorted))] {
		names = append(names, fmt.Sprintf("%s %.1fs", o.Trial, float64(o.MS)/1000))
	}
	fmt.Fprintf(w, "\n%d trials in %s; %.1fs each; longest: %s\n", len(all), took.Round(time.Second), float64(sum)/1000/float64(max(len(all), 1)), strings.Join(names, ", "))
}

package main

import (
	"crypto/sha256"
	"slices"
	"strings"
)

// pick chooses n trials that are spread over ecosystems, kinds and forms as evenly as the trials allow. The choice depends on nothing
// but the names of the trials, and the first of a choice are the smaller choice: a run that is interrupted has measured a fair sample.
func pick(all []trial, n int) []trial {
	left := slices.Clone(all)
	slices.SortFunc(left, func(a, b trial) int { return strings.Compare(digest([]byte(a.ID())), digest([]byte(b.ID()))) })
	var out []trial
	taken := map[string]int{}
	of := func(t trial) []string {
		return []string{"ecosystem " + t.Project.Ecosystem, "kind " + t.Kind, "form " + t.Form, "label " + t.Label + " " + t.Form, "case " + t.Project.Name + "/" + t.Name}
	}
	for len(out) < n && len(left) > 0 {
		best, least := 0, -1
		for i, t := range left {
			weight := 0
			for _, key := range of(t) {
				weight += taken[key]
			}
			if least < 0 || weight < least {
				best, least = i, weight
			}
		}
		t := left[best]
		left = slices.Delete(left, best, best+1)
		for _, key := range of(t) {
			taken[key]++
		}
		out = append(out, t)
	}
	return out
}

// once keeps one trial of each case. Which one depends on nothing but the name of the case.
func once(all []trial) []trial {
	of := map[*attempt][]trial{}
	for _, t := range all {
		of[t.attempt] = append(of[t.attempt], t)
	}
	return slices.DeleteFunc(slices.Clone(all), func(t trial) bool {
		mine := of[t.attempt]
		sum := sha256.Sum256([]byte(t.Project.Name + "/" + t.Name))
		return mine[int(sum[0])%len(mine)].Form != t.Form
	})
}

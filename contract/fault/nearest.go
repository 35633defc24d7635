package fault

import (
	"slices"
	"strings"
	"unicode"
)

// Nearest returns the known name that a wrong one most likely stands for, or "" when none is near. Case and
// separators do not count, so taskType finds task_type; a name that is only part of another finds it, so
// requested_profile finds requested_profile_id; and one that lacks a word in its middle finds the whole, so
// expected_schema finds expected_result_schema rather than schema.
func Nearest(wrong string, known []string) string {
	if len(wrong) == 0 || len(wrong) > 64 {
		return ""
	}
	w, ws := fold(wrong), words(wrong)
	best, bestDistance := "", 1+max(1, len(w)/3)
	for _, k := range known {
		f := fold(k)
		d := distance(w, f)
		switch shorter := min(len(w), len(f)); {
		case d == 0:
		case shorter >= 4 && (strings.HasPrefix(f, w) || strings.HasPrefix(w, f)):
			d = 1
		case len(ws) > 1 && lacksOnly(ws, words(k)):
			d = 1
		case shorter >= 6 && (strings.Contains(f, w) || strings.Contains(w, f)):
			d = 2
		}
		if d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

func fold(s string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(s))
}

// words splits a name where its writer did: at separators, and where a capital begins another word.
func words(s string) []string {
	var out []string
	begins := true
	for _, c := range s {
		switch {
		case strings.ContainsRune("_- .", c):
			begins = true
			continue
		case begins || unicode.IsUpper(c):
			out = append(out, "")
		}
		begins = false
		out[len(out)-1] += string(unicode.ToLower(c))
	}
	return out
}

// lacksOnly reports whether all words of one name are in another, in their order.
func lacksOnly(short, whole []string) bool {
	for _, w := range short {
		i := slices.Index(whole, w)
		if i < 0 {
			return false
		}
		whole = whole[i+1:]
	}
	return true
}

// distance is the optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

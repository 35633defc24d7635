package homeboy

import (
	"path"
	"slices"
	"strings"
)

// Allows reports whether the policy lets a command run that is started without a shell, and if not, why. A nil policy
// constrains nothing.
func (c *CommandPolicy) Allows(argv []string) (bool, string) {
	if c == nil || len(c.Deny) == 0 && len(c.Allow) == 0 {
		return true, ""
	}
	match := func(rules []CommandRule) *CommandRule {
		i := slices.IndexFunc(rules, func(r CommandRule) bool { return matchWords(strings.Fields(r.Pattern), argv) })
		if i < 0 {
			return nil
		}
		return &rules[i]
	}
	deny, allow := match(c.Deny), match(c.Allow)
	why := c.Reason
	if deny != nil {
		why = "the pattern " + deny.Pattern + " denies it"
		if deny.Reason != "" {
			why += ": " + deny.Reason
		}
	}
	if c.Mode == CommandAllowList {
		if why == "" {
			why = "no pattern of the allow list fits it"
		}
		return deny == nil && allow != nil, why
	}
	return deny == nil || allow != nil, why
}

// matchWords reports whether a command begins as the pattern says: * stands for part of a word, ** for any number of words.
func matchWords(pattern, words []string) bool {
	switch {
	case len(pattern) == 0:
		return true
	case pattern[0] == "**":
		for i := range len(words) + 1 {
			if matchWords(pattern[1:], words[i:]) {
				return true
			}
		}
		return false
	case len(words) == 0:
		return false
	}
	for _, word := range []string{words[0], path.Base(words[0])} { // a program is meant by its name, wherever it lies
		if ok, err := path.Match(strings.ReplaceAll(pattern[0], "/", "\x00"), strings.ReplaceAll(word, "/", "\x00")); err == nil && ok {
			return matchWords(pattern[1:], words[1:])
		}
	}
	return false
}

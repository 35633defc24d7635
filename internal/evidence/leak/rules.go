package leak

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"regexp/syntax"
	"sync"
)

//go:embed rules.json
var rulesText []byte

// A rule knows secrets of one kind by their form.
type rule struct {
	ID       string   `json:"id"`
	Regex    string   `json:"regex"`
	Group    int      `json:"group"`   // that is the secret; 0: the first that is not empty, else all of it
	Entropy  float64  `json:"entropy"` // bits a character that a secret has at least
	Keywords []string `json:"keywords"`
	Allow    []string `json:"allow"` // of the secret: samples

	reach   int // how far a match goes from its keyword at most
	compile func() compiled
}

type compiled struct {
	regex *regexp.Regexp
	allow []*regexp.Regexp
}

// maxReach bounds how far a match of a pattern without an end goes. The longest private key is that of RSA with 16384 bits.
const (
	maxReach    = 4 << 10
	maxKeyReach = 32 << 10
)

const privateKey = "private-key"

// A ruleSet finds where in a text rules may match.
type ruleSet struct {
	source string
	rules  []*rule
	*matcher
}

var shipped = sync.OnceValues(func() (*ruleSet, error) { return readRules(rulesText) })

func readRules(text []byte) (*ruleSet, error) {
	var doc struct {
		Source string  `json:"source"`
		Rules  []*rule `json:"rules"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read the rules of secrets: %w", err)
	}
	var words []keyword
	for i, r := range doc.Rules {
		tree, err := syntax.Parse(r.Regex, syntax.Perl)
		if err != nil {
			return nil, fmt.Errorf("read the rule %s: %w", r.ID, err)
		}
		limit := maxReach
		if r.ID == privateKey {
			limit = maxKeyReach
		}
		r.reach = longest(tree, limit) + 1 // a pattern also looks at the character next to what it takes
		r.compile = sync.OnceValue(func() compiled {
			c := compiled{regex: regexp.MustCompile(r.Regex)}
			for _, p := range r.Allow {
				c.allow = append(c.allow, regexp.MustCompile(p))
			}
			return c
		})
		for _, k := range r.Keywords {
			words = append(words, keyword{k, i})
		}
	}
	return &ruleSet{source: doc.Source, rules: doc.Rules, matcher: newMatcher(words)}, nil
}

// longest is how many bytes a pattern matches at most; limit if there is no bound.
func longest(re *syntax.Regexp, limit int) int {
	n := 0
	switch re.Op {
	case syntax.OpLiteral:
		n = 4 * len(re.Rune)
		if re.Flags&syntax.FoldCase == 0 {
			n = len(string(re.Rune))
		}
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		n = 1
		if len(re.Rune) == 0 || re.Rune[len(re.Rune)-1] > 0x7f {
			n = 4
		}
	case syntax.OpStar, syntax.OpPlus:
		return limit
	case syntax.OpRepeat:
		if re.Max < 0 {
			return limit
		}
		n = re.Max * longest(re.Sub[0], limit)
	case syntax.OpAlternate:
		for _, s := range re.Sub {
			n = max(n, longest(s, limit))
		}
	default:
		for _, s := range re.Sub {
			n += longest(s, limit)
		}
	}
	return min(n, limit)
}

package testreport

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/deedrun/deed/contract/runner"
)

// A Spec says how to read counts from what a script printed: the manifest's `result_parse`. Rules are applied in their
// order, and a later one overwrites an earlier one of the same field.
type Spec struct {
	Rules    []SpecRule         `json:"rules"`
	Defaults map[string]float64 `json:"defaults,omitempty"`
	Derive   []SpecDerive       `json:"derive,omitempty"`
}

// A SpecRule takes a number from every match of a pattern.
type SpecRule struct {
	Pattern   string `json:"pattern"` // RE2
	Field     string `json:"field"`
	Group     *int   `json:"group,omitempty"`     // absent: 1
	Aggregate string `json:"aggregate,omitempty"` // first, last (absent), sum, max
}

// A SpecDerive computes a field from others: names and numbers with + and -, from left to right. A name that is not known
// is 0.
type SpecDerive struct {
	Field string `json:"field"`
	Expr  string `json:"expr"`
}

// compiled is a rule that can be used.
type compiled struct {
	SpecRule
	re    *regexp.Regexp
	group int
}

// compile returns the rules that can be used, and why others cannot.
func (s *Spec) compile() ([]compiled, []string) {
	var rules []compiled
	var faults []string
	for i, r := range s.Rules {
		c := compiled{SpecRule: r, group: 1}
		if r.Group != nil {
			c.group = *r.Group
		}
		re, err := regexp.Compile(r.Pattern)
		switch {
		case err != nil:
			faults = append(faults, fmt.Sprintf("result_parse.rules[%d] is not used: pattern %q: %v", i, r.Pattern, err))
		case c.group < 0 || c.group > re.NumSubexp():
			faults = append(faults, fmt.Sprintf("result_parse.rules[%d] is not used: pattern %q has no group %d", i, r.Pattern, c.group))
		case r.Field == "":
			faults = append(faults, fmt.Sprintf("result_parse.rules[%d] is not used: field is empty", i))
		case aggregates[r.Aggregate] == nil:
			faults = append(faults, fmt.Sprintf("result_parse.rules[%d] is not used: aggregate %q is none of first, last, sum, max", i, r.Aggregate))
		default:
			c.re = re
			rules = append(rules, c)
		}
	}
	return rules, faults
}

// Faults says which rules are not used, and why.
func (s *Spec) Faults() []string {
	if s == nil {
		return nil
	}
	_, faults := s.compile()
	return faults
}

var aggregates = map[string]func(so, next float64) float64{
	"":      func(_, next float64) float64 { return next },
	"last":  func(_, next float64) float64 { return next },
	"first": func(so, _ float64) float64 { return so },
	"sum":   func(so, next float64) float64 { return so + next },
	"max":   math.Max,
}

// count reads the counts from a text; false when there are none.
func (s *Spec) count(text string) (runner.TestResults, bool) {
	fields := map[string]float64{}
	for name, v := range s.Defaults {
		fields[name] = v
	}
	rules, _ := s.compile()
	for _, r := range rules {
		if v, ok := r.find(text); ok {
			fields[r.Field] = v
		}
	}
	for _, d := range s.Derive {
		fields[d.Field] = evaluate(d.Expr, fields)
	}
	counted := runner.TestResults{
		Total:   whole(fields["total"]),
		Passed:  whole(fields["passed"]),
		Failed:  whole(fields["failed"]) + whole(fields["errors"]),
		Skipped: whole(fields["skipped"]),
	}
	return counted, counted.Total > 0
}

func (c *compiled) find(text string) (float64, bool) {
	combine := aggregates[c.Aggregate]
	var so float64
	found := false
	for _, m := range c.re.FindAllStringSubmatchIndex(text, -1) {
		if m[2*c.group] < 0 {
			continue
		}
		v, err := strconv.ParseFloat(text[m[2*c.group]:m[2*c.group+1]], 64)
		if err != nil {
			continue
		}
		if !found {
			so, found = v, true
			continue
		}
		so = combine(so, v)
	}
	return so, found
}

// evaluate computes from left to right.
func evaluate(expr string, fields map[string]float64) float64 {
	sum, sign := 0.0, 1.0
	for expr = strings.TrimSpace(expr); expr != ""; expr = strings.TrimSpace(expr) {
		switch expr[0] {
		case '+':
			sign, expr = 1, expr[1:]
			continue
		case '-':
			sign, expr = -1, expr[1:]
			continue
		}
		end := strings.IndexAny(expr, "+- \t")
		if end < 0 {
			end = len(expr)
		}
		name := expr[:end]
		expr = expr[end:]
		v, err := strconv.ParseFloat(name, 64)
		if err != nil {
			v = fields[name]
		}
		sum += sign * v
	}
	return sum
}

// whole makes a count of a number: at least 0, and cut.
func whole(v float64) int {
	if !(v > 0) {
		return 0
	}
	return int(math.Min(v, math.MaxInt32))
}

package bundle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deedrun/deed/contract/evidence"
	"github.com/deedrun/deed/internal/evidence/bundle"
)

const treeSchema = `{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","required":["name"],"additionalProperties":false,
  "properties":{"name":{"type":"string","pattern":"^[a-z]{1,63}$"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`

// tree is a payload of the tree schema with fan^(depth+1) nodes or fewer.
func tree(depth, fan int) string {
	if depth == 0 {
		return `{"name":"leaf"}`
	}
	return `{"name":"node","children":[` + strings.TrimSuffix(strings.Repeat(tree(depth-1, fan)+",", fan), ",") + `]}`
}

// doubling is a schema in which each level names the next twice.
func doubling(levels int, head string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{%s"$ref":"#/$defs/l0","$defs":{`, head)
	for i := range levels {
		fmt.Fprintf(&b, `"l%d":{"allOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"l%d":{"type":"string"}}}`, levels)
	return b.String()
}

func nested(depth int, inner string) string {
	return strings.Repeat("[", depth) + inner + strings.Repeat("]", depth)
}

func listOf(n int, of func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(of(i))
	}
	return b.String()
}

func TestPayloadSchemasAreBounded(t *testing.T) {
	t.Parallel()
	const file = "files/runtime-evidence/tool-calls/call-1-input.json"
	const index = "files/typed-artifacts/index.json"
	artifact := func(schema, payload string) string {
		return `{"artifact":{"path":"` + file + `"},"payload":` + payload + `,"payload_schema":` + schema + `}`
	}
	complete := `{"$ref":"#/$defs/l0","$defs":{` + listOf(12, func(i int) string {
		return fmt.Sprintf(`"l%d":{"anyOf":[%s]}`, i, listOf(12, func(j int) string { return fmt.Sprintf(`{"$ref":"#/$defs/l%d"}`, j) }))
	}) + `}}`
	chain := func(n int) string {
		return `{"$ref":"#/$defs/l0","$defs":{` + listOf(n, func(i int) string {
			return fmt.Sprintf(`"l%d":{"$ref":"#/$defs/l%d"}`, i, i+1)
		}) + fmt.Sprintf(`,"l%d":true}}`, n)
	}
	for name, c := range map[string]struct {
		artifacts, says string // says is empty when the payload is good
	}{
		"tree":                 {artifact(treeSchema, tree(8, 3)), ""},
		"deep tree":            {artifact(treeSchema, tree(400, 1)), ""},
		"bad tree":             {artifact(treeSchema, `{"name":"a","children":[{"name":"B"}]}`), "$.children[0].name"},
		"anchored tree":        {artifact(`{"$dynamicAnchor":"node","items":{"$dynamicRef":"#node"},"type":"array"}`, nested(300, "")), ""},
		"schema of schema":     {artifact(`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, treeSchema), ""},
		"its own name":         {artifact(`{"$id":"https://example.com/t","items":{"$ref":"https://example.com/t"},"type":"array"}`, nested(9, "")), ""},
		"long chain":           {artifact(chain(3000), `1`), ""},
		"an anchor for drafts": {artifact(`{"$dynamicAnchor":"meta","$ref":"https://json-schema.org/draft/2020-12/schema"}`, `{}`), ""},
		"an anchor twice":      {artifact(`{"$dynamicRef":"#a","$defs":{"x":{"$dynamicAnchor":"a"},"y":{"$id":"y","$dynamicAnchor":"a"}}}`, `{}`), ""},
		"ten doublings":        {artifact(doubling(10, ""), `"x"`), ""},
		"large list":           {artifact(`{"items":{"type":"object","required":["a"],"properties":{"a":{"enum":[1,2,3]}}}}`, "["+listOf(20_000, func(i int) string { return fmt.Sprintf(`{"a":%d}`, i%3+1) })+"]"), ""},

		"35 doublings":                  {artifact(doubling(35, ""), `"x"`), "steps"},
		"35 doublings, no hit":          {artifact(doubling(35, ""), `1`), "steps"},
		"under a famous name":           {artifact(doubling(35, `"$id":"https://json-schema.org/draft/2020-12/other",`), `"x"`), "steps"},
		"doubled by depth":              {artifact(`{"items":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}`, nested(60, "")), "steps"},
		"itself":                        {artifact(`{"$ref":"#"}`, `1`), "without end"},
		"each to each":                  {artifact(complete, `1`), "steps"},
		"too long a chain":              {artifact(chain(6000), `1`), "nest"},
		"looked at over and over":       {artifact(`{"unevaluatedItems":false,"allOf":[`+listOf(1000, func(int) string { return `{"items":true}` })+`]}`, "["+listOf(20_000, func(int) string { return "1" })+"]"), "steps"},
		"deep payload":                  {artifact(`{"items":{"$ref":"#"}}`, nested(9000, "")), "fit"},
		"an older draft inside":         {artifact(`{"$ref":"#/$defs/x","$defs":{"x":{"$id":"x","$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":"#"}}}`, `{}`), "not supported"},
		"pattern and text":              {artifact(`{"pattern":"(a|b|ab|a?b?){300}$"}`, `"`+strings.Repeat("ab", 1<<20)+`"`), "steps"},
		"pattern and names":             {artifact(`{"patternProperties":{"(a|b|ab|a?b?){300}$":true}}`, `{"`+strings.Repeat("ab", 1<<20)+`":1}`), "steps"},
		"large patterns":                {artifact(`{"allOf":[`+listOf(50, func(i int) string { return fmt.Sprintf(`{"pattern":"%s%d"}`, strings.Repeat("x{1000}", 300), i) })+`]}`, `"x"`), "steps"},
		"long number":                   {artifact(`{"type":"integer"}`, "7."+strings.Repeat("7", 4<<20)), "steps"},
		"long bound":                    {artifact(`{"minimum":7.`+strings.Repeat("7", 4<<20)+`}`, "1"), "steps"},
		"enum over a list":              {artifact(`{"items":{"enum":[`+listOf(30_000, func(i int) string { return fmt.Sprint(i) })+`]}}`, "["+listOf(30_000, func(int) string { return "-1" })+"]"), "steps"},
		"near the budget, wide":         {artifact(`{"items":{"type":"string"}}`, "["+listOf(100_000, func(int) string { return "1" })+"]"), "fit"},
		"near the budget, alternatives": {artifact(`{"items":{"oneOf":[{"type":"string"},{"$ref":"#/items/oneOf/0"},{"not":{"type":"integer"}}]}}`, "["+listOf(40_000, func(int) string { return "1" })+"]"), "fit"},
		"near the budget, deep":         {artifact(`{"items":{"$ref":"#"},"type":"array"}`, nested(150, listOf(10_000, func(int) string { return "1" }))), "fit"},
		"near the budget, unique":       {artifact(`{"uniqueItems":true}`, "["+listOf(40_000, func(i int) string { return fmt.Sprint(i) })+",0]"), "fit"},
		"near the budget, pattern":      {artifact(`{"pattern":"(a|b|ab|a?b?){20}d$"}`, `"`+strings.Repeat("ab", 100_000)+`c"`), "fit"},
		"near the budget, digits":       {artifact(`{"items":{"multipleOf":3}}`, "["+listOf(40, func(int) string { return "7." + strings.Repeat("7", 4000) })+"]"), "fit"},
		"near the budget, repetitions":  {artifact(`{"pattern":"`+strings.Repeat("x{1000}", 300)+`"}`, `"x"`), "fit"},
		"near the budget, schema":       {artifact(`{"allOf":[`+listOf(5000, func(int) string { return "{}" })+`,false]}`, "1"), "fit"},
		"many large schemas": {listOf(100, func(i int) string {
			return artifact(`{"allOf":[`+listOf(4000, func(int) string { return "true" })+`]}`, "1")
		}), "steps"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			text := `{"schema":"wp-codebox/typed-artifacts-index/v1","artifacts":[` + c.artifacts + `]}`
			dir := hostile(t, map[string]string{index: text}, map[string]string{index: evidence.KindTypedArtifacts})
			start := time.Now()
			v := verify(t, dir, bundle.VerifyOptions{})
			// About a second at most, and minutes to for ever without the bound; the rest is room for a busy machine under -race.
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			} else {
				t.Logf("took %v", took)
			}
			if c.says == "" {
				if !v.Valid {
					t.Errorf("violations: %+v", v.Violations)
				}
				return
			}
			if !slices.ContainsFunc(v.Violations, func(x evidence.Violation) bool {
				return x.Code == evidence.CodePayloadSchemaViolation && strings.Contains(x.Message, c.says)
			}) {
				t.Errorf("none says %q: %+v", c.says, v.Violations)
			}
		})
	}
}

package usage

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deedrun/deed/contract/agentruntime"
	"github.com/deedrun/deed/contract/settings"
)

//go:embed prices.json
var shipped []byte

// A Rate is what a million tokens cost, in millionths of a dollar.
type Rate struct {
	Input       int64 `json:"input"`
	CachedInput int64 `json:"cached_input"`
	CacheWrite  int64 `json:"cache_write"`
	Output      int64 `json:"output"`
}

// A Price is the rate of a model. Some cost more when the prompt is long.
type Price struct {
	Rate
	Long *LongRate `json:"long,omitempty"`
}

// A LongRate is for prompts of more tokens than Over.
type LongRate struct {
	Over int64 `json:"over_input_tokens"`
	Rate
}

// A table is deed's own list of prices. A changed list has another version.
type table struct {
	Version int    `json:"version"`
	Date    string `json:"date"`
	Unit    string `json:"unit"`
	Note    string `json:"note"`
	Models  []struct {
		Model string `json:"model"`
		Price
	} `json:"models"`

	byName map[string]Price
}

var own = sync.OnceValue(func() table {
	var t table
	dec := json.NewDecoder(bytes.NewReader(shipped))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&t); err != nil {
		panic(fmt.Sprintf("usage: prices.json: %v", err)) // a test reads it
	}
	t.byName = make(map[string]Price, len(t.Models))
	for _, m := range t.Models {
		t.byName[m.Model] = m.Price
	}
	return t
})

// TableVersion names deed's own list of prices.
func TableVersion() string { t := own(); return fmt.Sprintf("%d of %s", t.Version, t.Date) }

// Prices know what models cost: what the operator says, then deed's own list. The zero value is deed's own list.
type Prices struct {
	names map[string]Price
	globs []glob
	local bool
}

type glob struct {
	pattern string
	price   Price
}

// NewPrices joins the operator's prices with deed's own list, for the models of one adapter. A name goes before a glob, a
// longer glob before a shorter one. An unknown model costs nothing if the adapter is local.
func NewPrices(over map[string]settings.Price, a agentruntime.AdapterConfig) Prices {
	p := Prices{names: map[string]Price{}, local: Local(a)}
	for name, s := range over {
		price := Price{Rate: Rate{Input: micro(s.Input), CachedInput: micro(s.Input), CacheWrite: micro(s.Input), Output: micro(s.Output)}}
		if s.CachedInput != nil {
			price.CachedInput = micro(*s.CachedInput)
		}
		if s.CacheWrite != nil {
			price.CacheWrite = micro(*s.CacheWrite)
		}
		name = strings.ToLower(name)
		if strings.ContainsAny(name, "*?[") {
			p.globs = append(p.globs, glob{name, price})
		} else {
			p.names[name] = price
		}
	}
	slices.SortFunc(p.globs, func(a, b glob) int {
		if n := len(b.pattern) - len(a.pattern); n != 0 {
			return n
		}
		return strings.Compare(a.pattern, b.pattern)
	})
	return p
}

func micro(usd float64) int64 { return int64(math.Round(usd * 1e6)) }

// Of returns the price of a model, and false if it is not known.
func (p Prices) Of(model string) (Price, bool) {
	name := strings.ToLower(strings.TrimSpace(model))
	if v, ok := p.names[name]; ok {
		return v, true
	}
	for _, g := range p.globs {
		if matches(g.pattern, name) {
			return g.price, true
		}
	}
	if v, ok := own().byName[family(name)]; ok {
		return v, true
	}
	return Price{}, p.local
}

// matches is path.Match over names in which a slash is a character like any other.
func matches(pattern, name string) bool {
	flat := strings.NewReplacer("/", "\x1f")
	ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
	return ok && err == nil
}

var dated = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(-\d{4}-\d{2}-\d{2}|-\d{8}|-latest)$`) })

// family is the name under which deed's own list has a model: without its provider and without the date of its release.
// Nothing else is cut off: a name that only begins like one in the list is another model, with another price.
func family(name string) string {
	for _, provider := range []string{"anthropic/", "openai/"} {
		name = strings.TrimPrefix(name, provider)
	}
	name = dated().ReplaceAllString(name, "")
	if strings.HasPrefix(name, "claude-") {
		name = strings.ReplaceAll(name, ".", "-")
	}
	return name
}

// pico is what a stretch of work costs, in millionths of a millionth of a dollar, so that nothing is rounded before the
// sum. It stays at the largest number.
func (p Price) pico(u agentruntime.Usage) int64 {
	r := p.Rate
	if p.Long != nil && u.InputTokens > p.Long.Over {
		r = p.Long.Rate
	}
	cached := min(u.CachedInputTokens, u.InputTokens)
	written := min(u.CacheWriteTokens, u.InputTokens-cached)
	var sum int64
	for _, x := range [][2]int64{{u.InputTokens - cached - written, r.Input}, {cached, r.CachedInput}, {written, r.CacheWrite}, {u.OutputTokens, r.Output}} {
		sum = plus(sum, times(x[0], x[1]))
	}
	return sum
}

// times and plus are for numbers that are not negative, and stay at the largest.
func times(a, b int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

package loop

import (
	"slices"
	"strings"
	"time"

	"github.com/deedrun/deed/internal/agent/driver"
	"github.com/deedrun/deed/internal/agent/model"
)

// Bounds hold a conversation.
type Bounds struct {
	Tools     []string // by name; a subset of tool.Names
	MaxTurns  int      // answers of the model, those of delegated conversations included; 0: no bound
	MaxOutput int      // tokens of one answer; 0: the service's own
	Window    int64    // tokens that the model takes; 0: DefaultWindow of its name
	CompactAt float64  // the share of the window at which the conversation is shortened; 0: DefaultCompactAt

	Depth        int // how deep work may be delegated; 0: not at all
	Delegates    int // conversations that may be delegated, in all
	DelegateTurn int // answers of each of them
	DelegateTime time.Duration

	Retries  int           // of a request that the service did not answer
	MaxWait  time.Duration // the longest that a service is waited for when it asks for it
	Output   int64         // bytes of one whole output that are kept
	Evidence int64         // bytes of whole outputs that are kept, in all
}

// The defaults.
const (
	DefaultCompactAt     = 0.8
	DefaultDepth         = 1
	DefaultDelegates     = 8
	DefaultDelegateTurns = 30
	defaultDelegateTime  = 30 * time.Minute
	defaultRetries       = 6
	defaultMaxWait       = 2 * time.Minute
	defaultEvidence      = 64 << 20
	fallbackWindow       = 100_000
)

// withDefaults fills in what is not set. Depth and Delegates of 0 are bounds.
func (b Bounds) withDefaults(modelName string) Bounds {
	if b.Window <= 0 {
		b.Window = DefaultWindow(modelName)
	}
	if b.CompactAt <= 0 {
		b.CompactAt = DefaultCompactAt
	}
	if b.DelegateTurn <= 0 {
		b.DelegateTurn = DefaultDelegateTurns
	}
	if b.DelegateTime <= 0 {
		b.DelegateTime = defaultDelegateTime
	}
	if b.Retries <= 0 {
		b.Retries = defaultRetries
	}
	if b.MaxWait <= 0 {
		b.MaxWait = defaultMaxWait
	}
	if b.Output <= 0 {
		b.Output = driver.DefaultOutputCap
	}
	if b.Evidence <= 0 {
		b.Evidence = defaultEvidence
	}
	return b
}

func (b Bounds) allows(name string) bool { return slices.Contains(b.Tools, name) }

// compactTokens is the size at which a conversation is shortened. It leaves room for the next answer.
func (b Bounds) compactTokens() int64 {
	return min(int64(float64(b.Window)*b.CompactAt), max(b.Window-int64(b.MaxOutput), b.Window/4))
}

// contextWindows are what families of models take, by the beginning of their names; the longest that fits counts. What an
// adapter says counts more: a service may give less than the model can.
var contextWindows = map[string]int64{
	"claude": 200_000, "gpt-5": 272_000, "gpt-4.1": 1_000_000, "gpt-4o": 128_000, "gpt-4": 128_000, "o1": 200_000, "o3": 200_000, "o4": 200_000,
	"gemini": 1_000_000, "deepseek": 128_000, "qwen": 32_000, "llama": 32_000, "mistral": 32_000, "gpt-oss": 128_000, "kimi": 128_000, "glm": 128_000,
}

// DefaultWindow is what is known of a model by its name, else 100 000 tokens.
func DefaultWindow(name string) int64 {
	name = strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
	best, window := "", int64(fallbackWindow)
	for prefix, n := range contextWindows {
		if strings.HasPrefix(name, prefix) && len(prefix) > len(best) {
			best, window = prefix, n
		}
	}
	return window
}

// bytesPerToken is a guess for what the service did not count yet; text and code of most languages have more.
const bytesPerToken = 4

// size is about how many tokens a message has.
func size(m model.Message) int64 {
	var n int64
	for _, b := range m.Blocks {
		n += int64(len(b.Text)+len(b.Opaque)) + 8
		if b.Call != nil {
			n += int64(len(b.Call.Name) + len(b.Call.Input))
		}
		if b.Result != nil {
			n += int64(len(b.Result.Output))
		}
	}
	return n/bytesPerToken + 1
}

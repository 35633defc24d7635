package leak

import (
	"bytes"
	"math"
	"regexp"
	"strings"
	"sync"
)

// leastEntropy is how many bits a character a token has at least, where its rule does not ask for more.
const leastEntropy = 3

// samples are texts that people write as a placeholder for a token. Hardly any random token, one in thousands, contains
// one.
var samples = []string{
	"example", "sample", "dummy", "fake", "placeholder", "changeme", "change-me", "change_me", "redacted", "notreal", "not-real", "not_real",
	"your", "insert", "xxxx", "....", "****", "123456", "abcdef", "012345", "testtest", "deadbeef",
}

// real reports whether a secret is more than a sample that shows what one looks like.
func (r *rule) real(c compiled, secret []byte) bool {
	for _, a := range c.allow {
		if a.Match(secret) {
			return false
		}
	}
	if r.ID == privateKey {
		return realKey(secret)
	}
	low := strings.ToLower(string(secret))
	for _, s := range samples {
		if strings.Contains(low, s) {
			return false
		}
	}
	return entropy(secret) > max(r.Entropy, leastEntropy)
}

var keyBody = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[A-Za-z0-9+/]{40,}`) })

// realKey reports whether there is a key in the armour: a long run of base64 that is neither made of a few letters nor a
// name. Code that writes or looks for the armour has none.
func realKey(block []byte) bool {
	for _, run := range keyBody().FindAll(block, -1) {
		if entropy(run) > 4 && bytes.ContainsAny(run, "0123456789+/") {
			return true
		}
	}
	return false
}

// entropy is Shannon's, in bits a byte.
func entropy(b []byte) (bits float64) {
	var counts [256]int
	for _, c := range b {
		counts[c]++
	}
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(b))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// shown is how much of a token is shown: less than the prefix that identifies its issuer.
const shown = 4

func head(rule, value string) string {
	if rule == privateKey {
		if i := strings.Index(value[5:], "-----"); i >= 0 {
			return value[:5+i+5]
		}
	}
	return value[:min(shown, len(value))] + "…"
}

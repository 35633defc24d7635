// Command leakrules writes the rules of internal/evidence/leak from a release of gitleaks:
//
//	go run -C tools ./leakrules v8.30.1 > internal/evidence/leak/rules.json
//
// Only rules that know a secret by its own form are taken: a prefix of its issuer, or the armour of a private key. The
// others, which guess from the words around a value, would refuse honest work.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

const module = "github.com/zricethezav/gitleaks/v8"

// leftOut are rules that are not taken, and why.
var leftOut = map[string]string{
	"airtable-personnal-access-token":        "its keyword is not part of what it finds",
	"aws-amazon-bedrock-api-key-short-lived": "it finds a constant",
	"curl-auth-header":                       "any value in a command line of an example",
	"curl-auth-user":                         "the same",
	"easypost-test-api-token":                "of a test mode",
	"facebook-access-token":                  "its keyword is not part of what it finds",
	"flutterwave-encryption-key":             "of a test mode",
	"flutterwave-public-key":                 "public",
	"flutterwave-secret-key":                 "of a test mode",
	"freemius-secret-key":                    "it depends on the name of a member",
	"generic-api-key":                        "it guesses from the words around a value",
	"jwt":                                    "most are samples or have expired",
	"jwt-base64":                             "the same",
	"kubernetes-secret-yaml":                 "any value of a manifest",
	"nuget-config-password":                  "any value of a member",
	"pkcs12-file":                            "it looks at the name of a file only",
}

// narrowed are patterns that find less than the original does.
var narrowed = map[string]struct {
	regex    string
	keywords []string
}{
	"duffel-api-token":         {`duffel_live_(?i)[a-z0-9_\-=]{43}`, []string{"duffel_live_"}},                                                      // not its test mode
	"private-key":              {`(?i)-----BEGIN[ A-Z0-9_-]{0,100}PRIVATE KEY(?: BLOCK)?-----(?:[^-]|-[^-]){64,}?-----END`, []string{"-----begin"}}, // not from one armour to the next
	"shippo-api-token":         {`\b(shippo_live_[a-fA-F0-9]{40})\b`, []string{"shippo_live_"}},
	"stripe-access-token":      {`\b((?:sk|rk)_(?:live|prod)_[a-zA-Z0-9]{10,99})\b`, []string{"sk_live", "sk_prod", "rk_live", "rk_prod"}},
	"sourcegraph-access-token": {`\b(sgp_(?:(?:[a-fA-F0-9]{16}|local)_)?[a-fA-F0-9]{40})\b`, []string{"sgp_"}}, // not any 40 hexadecimal digits
	"square-access-token":      {`\b(sq0atp-[\w-]{22,60})`, []string{"sq0atp-"}},                               // not any base64 that begins with zeros
	"vault-service-token":      {`\b(hvs\.[\w-]{90,120})`, []string{"hvs."}},                                   // not a member of s
}

// A rule is what internal/evidence/leak reads.
type rule struct {
	ID       string   `json:"id"`
	Regex    string   `json:"regex"`
	Group    int      `json:"group,omitempty"`
	Entropy  float64  `json:"entropy,omitempty"`
	Keywords []string `json:"keywords"`
	Allow    []string `json:"allow,omitempty"`
}

type config struct {
	Rules []struct {
		ID          string   `toml:"id"`
		Regex       string   `toml:"regex"`
		SecretGroup int      `toml:"secretGroup"`
		Entropy     float64  `toml:"entropy"`
		Keywords    []string `toml:"keywords"`
		Path        string   `toml:"path"`
		Allowlists  []struct {
			Regexes []string `toml:"regexes"`
		} `toml:"allowlists"`
	} `toml:"rules"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: leakrules VERSION")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "leakrules:", err)
		os.Exit(1)
	}
}

func run(version string, w io.Writer) error {
	text, err := download(version)
	if err != nil {
		return err
	}
	rules, err := convert(text)
	if err != nil {
		return err
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(map[string]any{"source": module + " " + version + ", MIT License, Copyright (c) 2019 Zachary Rice", "rules": rules})
}

// download gets the configuration of a release, which the go command verifies.
func download(version string) ([]byte, error) {
	c := exec.Command("go", "mod", "download", "-json", module+"@"+version)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		return nil, fmt.Errorf("download %s %s: %w", module, version, err)
	}
	var m struct{ Dir string }
	if err := json.Unmarshal(out, &m); err != nil {
		return nil, fmt.Errorf("read the answer of go mod download: %w", err)
	}
	return os.ReadFile(filepath.Join(m.Dir, "config", "gitleaks.toml"))
}

// guesses marks the rules that are made of a word, an assignment and any value.
const guesses = `[\w.-]{0,50}?(?`

func convert(text []byte) ([]rule, error) {
	var c config
	if err := toml.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("read the rules: %w", err)
	}
	var out []rule
	known := map[string]bool{}
	for _, r := range c.Rules {
		known[r.ID] = true
		if leftOut[r.ID] != "" || strings.Contains(r.Regex, guesses) {
			continue
		}
		if r.Path != "" || r.Regex == "" || len(r.Keywords) == 0 {
			return nil, fmt.Errorf("rule %s has a path, no pattern or no keyword: leave it out or narrow it", r.ID)
		}
		n := rule{ID: r.ID, Regex: r.Regex, Group: r.SecretGroup, Entropy: r.Entropy, Keywords: r.Keywords}
		if to, ok := narrowed[r.ID]; ok {
			n.Regex, n.Keywords = to.regex, to.keywords
		}
		n.Regex = strings.ReplaceAll(n.Regex, "([a-z0-9]{4}-){3}", "(?:[a-z0-9]{4}-){3}") // a group would be the secret
		for i, k := range n.Keywords {
			n.Keywords[i] = strings.ToLower(k)
		}
		for _, a := range r.Allowlists {
			n.Allow = append(n.Allow, a.Regexes...)
		}
		for _, p := range append([]string{n.Regex}, n.Allow...) {
			if _, err := regexp.Compile(p); err != nil {
				return nil, fmt.Errorf("rule %s: %w", r.ID, err)
			}
		}
		out = append(out, n)
	}
	for id := range leftOut {
		if !known[id] {
			return nil, fmt.Errorf("rule %s is left out, and there is none", id)
		}
	}
	for id := range narrowed {
		if !known[id] {
			return nil, fmt.Errorf("rule %s is narrowed, and there is none", id)
		}
	}
	return out, nil
}

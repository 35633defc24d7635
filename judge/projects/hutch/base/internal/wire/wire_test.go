package wire

import (
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	tests := []struct {
		line string
		want Command
	}{
		{"get a", Command{"get", []string{"a"}}},
		{"  GET\ta \r", Command{"get", []string{"a"}}},
		{"len", Command{"len", []string{}}},
		{`set "a b" c 5s`, Command{"set", []string{"a b", "c", "5s"}}},
		{`set k ""`, Command{"set", []string{"k", ""}}},
		{`set k "a\tb\nc"`, Command{"set", []string{"k", "a\tb\nc"}}},
		{`set k "say \"hi\""`, Command{"set", []string{"k", `say "hi"`}}},
		{`set k "c:\\dir\\"`, Command{"set", []string{"k", `c:\dir\`}}},
		{`set k c:\dir`, Command{"set", []string{"k", `c:\dir`}}},
	}
	for _, tt := range tests {
		got, err := Parse(tt.line)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %q, %v, want %q", tt.line, got, err, tt.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for line, want := range map[string]string{
		"":              "empty line",
		"fetch a":       `unknown command "fetch"`,
		"get":           "wrong number of arguments for get",
		"get a b":       "wrong number of arguments for get",
		`get "a`:        "quote is not closed",
		`get "a\`:       "quote is not closed",
		`get "\x"`:      `unknown escape \x`,
		`get a"b`:       "quote inside of a word",
		`set "a""b"`:    "no blank after a quote",
		`set "a" b c d`: "wrong number of arguments for set",
	} {
		if _, err := Parse(line); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// FuzzParse runs its seeds, here and in testdata/fuzz, with every go test.
func FuzzParse(f *testing.F) {
	f.Add("get a")
	f.Add(`set "" "\n"`)
	f.Fuzz(func(t *testing.T, line string) {
		cmd, err := Parse(line)
		if err != nil {
			return
		}
		again, err := Parse(cmd.String())
		if err != nil || !reflect.DeepEqual(again, cmd) {
			t.Errorf("%q came back as %q, %v", cmd, again, err)
		}
		if strings.ContainsAny(cmd.String(), "\n\t") {
			t.Errorf("a line is one line: %q", cmd)
		}
	})
}

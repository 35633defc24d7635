package runtimepkg

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deedrun/deed/contract/settings"
)

func TestConfiguredSecrets(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "dir")
	if err := os.Mkdir(fifo, 0o755); err != nil {
		t.Fatal(err)
	}
	script := func(name, text string) string {
		file := write(t, "#!/bin/sh\n"+text, dir, name)
		if err := os.Chmod(file, 0o755); err != nil {
			t.Fatal(err)
		}
		return file
	}
	for name, c := range map[string]struct {
		secret    settings.Secret
		want, err string
	}{
		"another variable":      {settings.Secret{Env: "OTHER"}, "from-other", ""},
		"a variable that lacks": {settings.Secret{Env: "NONE"}, "", "NONE is not set"},
		"a file":                {settings.Secret{File: write(t, "from-file\n", dir, "a")}, "from-file", ""},
		"one newline is taken":  {settings.Secret{File: write(t, "two\n\n", dir, "b")}, "two\n", ""},
		"an empty file":         {settings.Secret{File: write(t, "\n", dir, "c")}, "", "gave nothing"},
		"a directory":           {settings.Secret{File: fifo}, "", "not a regular file"},
		"a file that lacks":     {settings.Secret{File: filepath.Join(dir, "none")}, "", "no such file"},
		"a command":             {settings.Secret{Command: []string{script("get", `printf '%s' "got-$1"`), "it is $HOME"}}, "got-it is $HOME", ""},
		"of the PATH":           {settings.Secret{Command: []string{"printf", "plain"}}, "plain", ""},
		"a clean environment":   {settings.Secret{Command: []string{script("env", `echo "$OTHER$HOME"`)}}, "/home/op", ""},
		"it fails":              {settings.Secret{Command: []string{script("fail", "echo half-a-secret; echo half-a-secret >&2; exit 3")}}, "", "ended with 3"},
		"it prints too much":    {settings.Secret{Command: []string{"head", "-c", "100000", "/dev/zero"}}, "", "more than 65536 bytes"},
		"it prints a NUL":       {settings.Secret{Command: []string{"head", "-c", "10", "/dev/zero"}}, "", "no variable can hold"},
		"it hangs":              {settings.Secret{Command: []string{"sleep", "100"}, TimeoutSeconds: 1}, "", "did not end within 1s"},
		"it is not there":       {settings.Secret{Command: []string{"no-such-program"}}, "", "no-such-program"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stores := OwnStores([]string{"OTHER=from-other", "HOME=/home/op", "PATH=" + os.Getenv("PATH")}, map[string]settings.Secret{"X": c.secret})
			values, status, err := ResolveSecrets(t.Context(), []SecretNeed{need("X", nil)}, "", stores...)
			if values["X"] != c.want || (err == nil) != (c.err == "") {
				t.Fatalf("%q %v", values["X"], err)
			}
			if c.err != "" && (!strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "half-a-secret")) {
				t.Errorf("%v lacks %q", err, c.err)
			}
			if c.err == "" && status[0].Source != "deed.yaml" {
				t.Errorf("%+v", status)
			}
		})
	}
}

// The environment is asked before a command, and a command once for many tasks.
func TestConfiguredSecretsAreAskedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	stores := OwnStores([]string{"A=of-env", "PATH=" + os.Getenv("PATH")}, map[string]settings.Secret{
		"A": {Command: []string{"sh", "-c", "echo a >> " + log + "; echo of-command"}},
		"B": {Command: []string{"sh", "-c", "echo b >> " + log + "; echo of-command"}},
	})
	for range 3 {
		values, _, err := ResolveSecrets(t.Context(), []SecretNeed{need("A", nil), need("B", nil)}, "", stores...)
		if err != nil || values["A"] != "of-env" || values["B"] != "of-command" {
			t.Fatalf("%v %v", values, err)
		}
	}
	if data, err := os.ReadFile(log); err != nil || string(data) != "b\n" {
		t.Errorf("%q %v", data, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	called := errors.New("called off")
	cancel(called)
	if _, _, err := OwnStores(nil, map[string]settings.Secret{"B": {Command: []string{"/bin/echo", "x"}}})[1].Lookup(ctx, "B"); !errors.Is(err, called) {
		t.Errorf("%v", err)
	}
}

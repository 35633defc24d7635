package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.test/hitcount/internal/golden"
)

func TestGolden(t *testing.T) {
	cases := []struct {
		name string
		args []string
		code int
	}{
		{"by-path", nil, 0},
		{"by-status", []string{"-by", "status"}, 0},
		{"by-hour-json", []string{"-by", "hour", "-json"}, 0},
		{"top", []string{"-top", "2"}, 0},
	}
	log, err := os.ReadFile("testdata/access.log")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			if code := run(c.args, bytes.NewReader(log), &stdout, &stderr); code != c.code {
				t.Errorf("code %d, want %d: %s", code, c.code, stderr.String())
			}
			golden.Check(t, c.name, stdout.Bytes())
		})
	}
}

func TestBadLines(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(nil, strings.NewReader("hello\n2024-05-01T09:30:00Z GET / 200 1\n"), &stdout, &stderr)
	if code != 1 {
		t.Errorf("code %d, want 1", code)
	}
	golden.Check(t, "bad-lines.stderr", stderr.Bytes())
	golden.Check(t, "bad-lines", stdout.Bytes())
}

func TestEmptyLog(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-json"}, strings.NewReader(""), &stdout, &stderr); code != 0 {
		t.Errorf("code %d", code)
	}
	golden.Check(t, "empty-json", stdout.Bytes())
}

// TestBinary builds the program and runs it, which takes about a second.
func TestBinary(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a binary")
	}
	bin := filepath.Join(t.TempDir(), "hitcount")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(bin, "-by", "status")
	log, err := os.Open("testdata/access.log")
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd.Stdin = log
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "by-status", out)
}

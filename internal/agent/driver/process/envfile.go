package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deedrun/deed/internal/base/failure"
	"github.com/deedrun/deed/internal/base/plainfile"
)

// maxEnvFile bounds an environment file.
const maxEnvFile = 1 << 20

// readEnvFile reads the adapter's environment file. Every fault is of class failure.Config and names the file, the
// line and the remedy.
func readEnvFile(path string) (map[string]string, error) {
	fault := func(err error, remedy string) error {
		return failure.New(failure.Config, "read env_file "+path, err, remedy)
	}
	if !filepath.IsAbs(path) {
		return nil, fault(errors.New("the path is not absolute"), "give an absolute path, or one that the configuration resolves")
	}
	data, err := plainfile.Read(path, maxEnvFile)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, fault(errors.New("there is no such file"), "make it, or take env_file out of the adapter")
	case errors.Is(err, plainfile.ErrNotRegular):
		return nil, fault(errors.New("it is not a regular file"), "name a file of KEY=VALUE lines")
	case errors.Is(err, plainfile.ErrTooLarge):
		return nil, fault(fmt.Errorf("it has more than %d bytes", maxEnvFile), "name a file of KEY=VALUE lines")
	case err != nil:
		return nil, fault(err, "let the user that runs deed read it")
	}
	vars, err := parseEnvFile(data)
	if err != nil {
		return nil, fault(err, "write one KEY=VALUE on each line")
	}
	return vars, nil
}

// parseEnvFile reads lines of KEY=VALUE. Blank lines and lines that begin with # are skipped, `export ` before a key
// and one pair of matching quotes around a value are taken off, nothing is expanded, and a later line wins. A # after
// a value belongs to the value.
func parseEnvFile(data []byte) (map[string]string, error) {
	vars := map[string]string{}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "export"); ok && rest != "" && (rest[0] == ' ' || rest[0] == '\t') {
			line = strings.TrimSpace(rest)
		}
		// The text of a line can be a secret: an error says what is wrong with it and not what it is.
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("line %d: there is no =", i+1)
		}
		key = strings.TrimSpace(key)
		if err := checkName(key); err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		value, err := unquote(strings.TrimSpace(value))
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", i+1, key, err)
		}
		if strings.IndexByte(value, 0) >= 0 {
			return nil, fmt.Errorf("line %d: %s: the value holds a NUL byte", i+1, key)
		}
		vars[key] = value
	}
	return vars, nil
}

func unquote(v string) (string, error) {
	if v == "" || (v[0] != '"' && v[0] != '\'') {
		return v, nil
	}
	if len(v) < 2 || v[len(v)-1] != v[0] {
		return "", fmt.Errorf("the value begins with %c and does not end with it", v[0])
	}
	return v[1 : len(v)-1], nil
}

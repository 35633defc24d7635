// Command schemagen writes the generated files of contract/schema. It is run by `go generate` in that directory.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/deedrun/deed/contract/schema/internal/generate"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "schemagen:", err)
		os.Exit(1)
	}
}

// run replaces the generated files, so that those of a record that is gone do not stay behind.
func run() error {
	files, err := generate.Files(filepath.Join("..", ".."))
	if err != nil {
		return err
	}
	if err := os.RemoveAll("json"); err != nil {
		return err
	}
	for name, data := range files {
		path := filepath.FromSlash(name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

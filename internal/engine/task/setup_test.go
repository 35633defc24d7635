package task

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deedrun/deed/internal/base/config"
)

func writeConfig(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, config.FileName)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

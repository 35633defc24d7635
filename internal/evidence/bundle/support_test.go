package bundle_test

import (
	"crypto/sha256"
	"fmt"
	"syscall"
)

func mkfifo(path string) error { return syscall.Mkfifo(path, 0o600) }

func hashText(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

//go:build !linux

package atomicfile

import "os"

func beginWrite(*os.File) {}

func open(path string) (*os.File, error) { return os.Open(path) }

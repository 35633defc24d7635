//go:build !linux

package gc

import "context"

// mounts does nothing: deed mounts only on Linux.
func (s *sweep) mounts(context.Context) error { return nil }

func (s *sweep) mountedBelow(string) string { return "" }

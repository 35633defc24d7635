//go:build !linux

package bundle_test

func writeOnBadDisk(string, string) string { return "mount: not on this system" }

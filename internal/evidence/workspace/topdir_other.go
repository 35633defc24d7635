//go:build unix && !linux

package workspace

// SetTopdirFlag does nothing where there is no ext4.
func SetTopdirFlag(string) {}

//go:build !linux

package atomicfile

func renameNoReplace(from, to string) error { return renameChecked(from, to) }

func exchange(a, b string) error { return exchangeSlowly(a, b) }

//go:build !linux

package drivertest

import "testing"

func testFullDisk(t *testing.T, _ Harness) {
	t.Skip("missing tool: tmpfs: it is Linux's")
}

//go:build !linux

package systemd

const abstract = false

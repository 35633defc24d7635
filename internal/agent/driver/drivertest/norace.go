//go:build !race

package drivertest

const muchOutput = 1 << 30

//go:build race

package drivertest

// muchOutput is less under the race detector, which slows the redactor down to a crawl.
const muchOutput = 1 << 26

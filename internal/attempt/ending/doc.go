// Package ending owns how an attempt ended. One table decides it, once, from what deed saw; every vocabulary (the documents of
// a bundle, the envelope of WP Codebox, the outcome of a runtime package, the exit code) is a column of that table or is derived
// from its row. The account says the same to those who ask: what the attempt changed, what its agent said, and what its checks
// gave. The package does no I/O.
package ending

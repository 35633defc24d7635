// Package ending owns how an attempt ended. One table decides it, once, from what deed saw. Every vocabulary (the
// documents of a bundle, the envelope of WP Codebox, the outcome of a runtime package, the exit code) is a column of
// that table or is derived from its row. An account answers those who ask about the attempt: what it changed, what
// its agent reported, and what its checks gave. The package does no I/O.
package ending

// Package repolint holds the tests that keep the repository in order: which way imports point, where processes, time
// and SQL may be touched, what is documented, how long files are, which dependencies there are. It has no code
// for others to call. Every rule reads the source without compiling it, and is shown to catch what it forbids.
package repolint

// Package check owns a run of one capability of one component: it prepares the run directory and the environment that the
// runner contract names, runs the extension's script in a place that the caller gives it, reads what the script left
// behind and says what that means. It decides nothing about an agent; package gate does.
package check

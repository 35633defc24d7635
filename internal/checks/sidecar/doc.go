// Package sidecar owns the reading of what a script left in its run directory. What is absent is no fault, what is
// malformed is a fault with a name, and neither hides how the script ended.
package sidecar

// Package helper owns the shell helpers that the scripts of extensions source: their text, the files that it is written
// to, and the classifier that says how a run ended, in Go and for the shell. It runs nothing.
package helper

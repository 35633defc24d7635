// Package helper owns the shell helpers that the scripts of extensions source: their text, and the files that it is
// written to.
package helper

// Package analysis owns what can be read from tests beyond their results: which failures have one cause, and which tests
// speak of code that is not there any more. It judges nothing: what it says is where to look first.
package analysis

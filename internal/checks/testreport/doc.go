// Package testreport owns the results of tests in the formats that tools write: it reads JUnit XML, `go test -json`, TAP
// and the summary lines of well-known tools into tests by name and counts, and writes JUnit XML.
package testreport

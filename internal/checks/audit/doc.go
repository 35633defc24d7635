// Package audit owns deed's own look at a tree: the detectors, their configuration and their findings. It reads files and
// the history that git has of them; it changes nothing in the tree, and what it runs besides git are the fingerprint
// scripts that the caller names.
//
// A run has two halves. The first turns each file into facts (declarations, references, comments, links, matches of text
// rules), file by file on all processors; no syntax tree outlives its file, and facts are kept in a cache by the content
// of the file. The second half is the detectors, which see the facts of the whole tree and no file.
package audit

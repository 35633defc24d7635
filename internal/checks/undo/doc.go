// Package undo owns the copy of a component's files that stands behind a fixer: it is taken before the fixer runs, says
// afterwards what changed, and puts files back byte for byte. It knows nothing of fixers and decides nothing.
//
// A crash at any point loses nothing. The copy is on the disk before the caller goes on, and counts from the moment that
// its record is written; it is gone when the caller keeps the change or has put it back. A record that the next run
// finds is that of a run that was killed:
//
//	Take     content, fsync ─ record ┄┄ fixers write ┄┄ verification ─┬─ Keep: record away, then content
//	                                                                  └─ Restore: files, then as Keep
//	killed   nothing to undo         │  Recover puts the files back, and moves aside what it found at their paths
//
// What is not copied and not looked at: .git, and what is ignored in the directories that tools fill (dependencies,
// build output, caches). Extended attributes and hard links are not kept.
package undo

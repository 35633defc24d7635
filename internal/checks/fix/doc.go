// Package fix owns a run of fixers in a component: it has the component diagnosed, stands behind the fixers with a copy of
// its files, has what they changed verified, and keeps it or puts every file back. Who diagnoses, fixes and verifies is
// the caller's to say.
//
// Confidence decides what is kept. A fix that the fixer calls safe or guarded is kept if the verification passes. One that it
// calls advisory is only reported, and is undone if it was applied.
package fix

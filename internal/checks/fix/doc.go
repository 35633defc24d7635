// Package fix owns a run of fixers in a component: it has the component diagnosed, stands behind the fixers with a copy of
// its files, has what they changed verified, and keeps it or puts every file back. Who diagnoses, fixes and verifies is
// the caller's to say.
//
// Confidence decides what is kept. What a fixer calls safe or guarded is kept when the verification passes; what it calls
// advisory is told, and put back should it have been done.
package fix

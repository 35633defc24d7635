// Package loop owns the conversation of the native agent: what the model gets, which tools are called, when the conversation is
// shortened, what is delegated, and when it yields. It does not judge the work, does not talk to a service itself and does not
// start processes.
//
// # How it is built
//
// A conversation is a log of entries that is only appended to. Its state is the fold of the log (state.apply), and the next
// step is a function of the state (state.next). Only carrying out a step touches the world; what came of it is the next
// entry. So a reader of the log gets the same state as its writer had.
//
//	log ──apply──► state ──next──► step ──carry out──► entry ──► log
//
// # What a crash leaves
//
// Before a call that may change something is carried out, an entry "started" is on the disk; before the model gets the result,
// the result is on the disk. A call that was started and has no result is answered with a failure of type interrupted when the
// conversation resumes: it is not known whether it took effect, so it is never repeated automatically. Calls that change nothing
// are simply repeated. A delegated conversation has a log of its own and resumes by the same rules.
package loop

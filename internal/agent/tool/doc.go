// Package tool owns the tools of deed's own agent: what a model is told of them, how their input is read, and the process
// in which they are carried out. It does not decide which call may be made, and keeps nothing of a conversation.
//
// Tools that touch files or start commands run in a host: this binary, executed again inside the agent's sandbox, one for
// each turn. What stands outside talks to it in frames on its stdin and stdout (see Host).
//
//	deed ── supervisor ══╪══ host ─┬─ read, list, search, edit, write, apply_patch through os.Root
//	                     │         └─ supervisor ── shell command and all that it starts
//
// The host belongs to the agent's side of the wall. A command can kill it, or write into its pipes as the same user: then a
// call is lost or has an odd result, and nothing else. Everything that comes from it is bounded and is the agent's word.
package tool

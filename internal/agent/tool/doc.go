// Package tool owns the tools of the native agent: how they are described to a model, how their input is read, and the process
// in which they run. It does not decide which calls may be made, and keeps nothing of a conversation.
//
// Tools that touch files or start commands run in a host: this binary, executed again inside the agent's sandbox, one for
// each turn. deed talks to it from outside in frames on its stdin and stdout (see Host).
//
//	deed ── supervisor ══╪══ host ─┬─ read, list, search, edit, write, apply_patch through os.Root
//	                     │         └─ supervisor ── shell command and all that it starts
//
// The host is on the agent's side of the boundary. A command can kill it, or write into its pipes as the same user: then a call
// is lost or has an odd result, and nothing else. Everything that comes from the host is bounded, and no more trusted than the
// agent.
package tool

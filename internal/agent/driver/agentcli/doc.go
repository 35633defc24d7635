// Package agentcli owns what all agent command lines share: how one turn of a conversation becomes one process, how the
// stream of events that it prints is read as it arrives, and what follows from its end. What differs between them is a
// Dialect, in a package of its own. It does not judge what an agent did.
//
// # One turn
//
// Every turn is a new process that goes on with the conversation of the one before by the CLI's own means. The prompt is on
// stdin, never on a command line that others can read. The configuration home of the CLI is a directory of the attempt:
// nothing of the user's sessions, memory, hooks or settings comes in, and nothing is written there. The time limit holds
// for all turns of a session together.
//
// # What follows, first match
//
//	the time limit passed, the context ended, a limit was reached   as in package process: once deed sent a signal, the
//	                                                                agent's own exit and last words count for nothing
//	the stream tells of a failure                                   its class: Provider, RateLimited, Turns, Config (a
//	                                                                refused key), Blocked (a person was asked)
//	a non-zero exit                                                 failure.AgentFailed
//	no event that says the turn succeeded                           failure.InvalidWord
//	a result in DEED_RESULT_FILE                                    what it says
//	otherwise                                                       a claim of completion with the agent's last message
package agentcli

// Package bridge maps the status vocabularies of the contract onto each other: a deed task outcome, the outcome of
// an agent-task provider, the terminal status of a sandbox run, and the record of a fanout. It owns the words of the
// last three and the one table between all four; it owns no record and no state.
//
//	deed outcome (machine_status)        provider                       sandbox                        fanout
//	completed (ok)                       succeeded                      succeeded                      completed
//	completed (ok), empty change         no_op                          no_op                          completed
//	retryable_failure (needs_retry)      timeout, provider_error        timeout, provider_error        failed
//	permanent_failure (failed)           failed, unable_to_remediate    failed, unable_to_remediate    failed
//	blocked (blocked)                    follow_up_issue                failed                         failed
//	blocked (blocked), work to review    candidate_recoverable          failed                         failed
//	operator_canceled (canceled)         cancelled                      failed                         failed
//
// Where one status stands for two words a Cause decides. A timeout or a provider error keeps its word when it was the
// last attempt's and the task therefore ended in permanent_failure: what happened outranks what follows from it.
package bridge

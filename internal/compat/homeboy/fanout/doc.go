// Package fanout owns the computations of a fanout: from a configuration and items to the plan of its tasks, from planned tasks to
// complete requests, from records to the result, and from one task and several backends to a matrix and its best cell. It is pure:
// it starts nothing, reads no file and keeps no state. internal/compat/homeboy/fanoutrun runs plans.
//
// The rules are those of the six published schemas. Where the first implementation of them silently loses something, this one does
// not:
//
//   - an id or a group key that a template renders to nothing gives way to the computed one, and does not remove it
//   - two tasks with one id are refused when the plan is made, not when it runs; ids that deed computes are made distinct
//   - a configuration cannot replace the counts of the summary, or the records and the status of a run
//   - of several records of one task the worst counts, whichever came last, and the others are reported
//   - a record of no task is reported
//   - no configuration makes a success of a record that is failed or missing, or of one whose status contradicts its flag
package fanout

// Package schedule owns recurring work: when a schedule is due, which slot that is, and that exactly one task is made for it, however
// many processes look. It decides when work should exist and runs none.
//
// A schedule that was not looked at for some time makes one task, for the newest slot that passed, and continues from the moment of
// the evaluation; the other slots that passed are counted as missed. A schedule whose task cannot be made any more is suspended, and
// a person is asked; the other schedules continue.
package schedule

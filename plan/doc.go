// Package plan rehearses jobs on virtual time: the scheduler that makes real
// calls runs against the emulator's model, by a heap and without HTTP, so that
// minutes of traffic take milliseconds and every run can be repeated.
//
// [Rehearse] is the whole of it. A [Setting] says which calls go out over which
// lanes of a scenario, and an [Outcome] how that went. Several settings run side
// by side on one model, as processes that share keys do; a [Brain] in place of
// the scheduler's core is how controllers are compared with it.
//
// The tests of this package hold the scheduler to the bounds of its control
// law: "go test -run Scenarios -v ./plan" prints them in two tables.
//
// # Known limitations
//
// A request reaches the model at the instant it is sent and a refusal comes
// back at that same instant: there is no round trip, and no time for a journal.
// An exchange is never given up for taking too long.
package plan

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
// Settings whose stream may batch, over lanes of the batch tier, are carried out
// as a Fleet does with a source that has two ends: sync takes rows from the near
// one, batches from the far one. [BatchFault], [Outage] and [Crash] are what may
// go wrong on the way.
//
// # Known limitations
//
// A request reaches the model at the instant it is sent and a refusal comes
// back at that same instant: there is no round trip, and no time for a journal.
// An exchange is never given up for taking too long.
//
// Calls to the batch endpoints take small constant times: 0.3 s for a poll, a
// cancel or a listing; 1 s and 20 MB/s for a create; 1 s and 20,000 rows/s for
// results. A create whose answer was lost is told apart from others for certain:
// what a Fleet must find out by time, count and ids, a rehearsal knows.
package plan

// Package plan rehearses jobs on virtual time: the scheduler that makes real
// calls runs against the emulator's model, by a heap and without HTTP, so that
// minutes of traffic take milliseconds and every run can be repeated.
//
// [Foresee] is what most programs need: it takes a [Job], the calls and the
// fleet that is to carry them, and gives a [Forecast] of each route that the job
// could take, with the one that its preference, deadline and cap choose.
//
// Below it, [Rehearse] runs one [Setting], which calls go out over which lanes of
// a scenario, and an [Outcome] says how that went. Several settings run side
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
// A forecast knows of a provider what its Job says, and is as uncertain about it
// as that was measured or assumed; colleagues, storms and batches that starve it
// does not foresee. The emulator has one batch scheduler for all orgs, so what is
// known of several orgs' batches is averaged. Above 100,000 calls the middle of a
// rehearsal is not run but carried at the rate of its steady state; of jobs with
// batches, and near a cap or a target, this is less exact than by sync alone.
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

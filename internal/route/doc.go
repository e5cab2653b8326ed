// Package route says how fast a job could end at best and which limit stands in
// the way, how it is best split over orgs and tiers by a deadline and within a
// budget, and which of several forecast routes to take (facts/control.md C).
// It is pure.
//
// [SyncBound], [BatchBound] and [HybridBound] are the fluid lower bounds of one
// pool; [Task] is the exact planner for several classes of calls, by a linear
// program; [Choose] picks among candidates by the rules of interface.md.
//
// Known limitations. The bounds pool every dimension over the lanes, so a job
// whose lanes bind on different dimensions may be held to less than it could
// know (a Task does not). Output that is produced by calls in flight when the
// job's last one was admitted may overdraw its bucket, by at most what is in
// flight then; the bound does not count on that, so a run can end that much
// before it. What batches give is taken as a steady rate after an overhead: they
// are opaque, and promise nothing (C.2).
package route

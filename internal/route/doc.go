// Package route says how fast a job could end at best, and which limit stands
// in the way: the fluid lower bounds of facts/control.md C.1. It is pure.
//
// Known limitations. The bounds pool every dimension over the lanes, so a job
// whose lanes bind on different dimensions may be held to less than it could
// know. Output that is produced by calls in flight when the job's last one was
// admitted may overdraw its bucket, by at most what is in flight then; the
// bound does not count on that, so a run can end that much before it.
package route

// Package plan rehearses jobs on virtual time: the scheduler that makes real
// calls runs against the emulator's model, by a heap and without HTTP, so that
// minutes of traffic take milliseconds and every run can be repeated.
package plan

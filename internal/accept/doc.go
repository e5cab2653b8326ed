// Command accept is the acceptance run: 141,600 rows to judge, carried in
// several ways side by side, and one table of how each went.
//
//	go run ./internal/accept                     # everything, about half an hour on two cores
//	go run ./internal/accept -profile FILE       # by a profile measured before
//	go run ./internal/accept -quick -out DIR     # some thousand rows, a minute
//
// It measures the emulator first (flotilla measure all), so that forecasts go by
// what was measured. Then it carries the rows on virtual time, where minutes of
// traffic take a second and a run can be repeated to the nanosecond, and over
// HTTP with the program itself in processes of its own. It writes acceptance.md
// and acceptance.json, and ends with code 1 where a target is missed.
//
// # Known limitations
//
// All figures come from the emulator's model of the API. Over HTTP its clock runs
// faster than the machine's, so that what a client does takes so many times
// longer there: arms over HTTP are slower than on virtual time by what the machine
// needs.
package main

// Package wire reads and writes the API dialect: what a request body says of
// itself, its canonical form and its wire copy, limit headers, error answers,
// Messages as JSON and as event streams, JSON lines, batches with their items,
// listings and results. It is pure: bytes and headers in, values out; no clock,
// no I/O but the reader handed to it.
//
// Everything read here was written by someone else, so nothing is trusted:
// JSON is checked once, with the place of the fault, and then walked by a
// cursor; what cannot be parsed in a header is ignored and counted.
package wire

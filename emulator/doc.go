// Package emulator imitates the Claude API under rate limits: [Model] is a pure,
// seeded model on passed-in time, and [Server] puts it behind HTTP.
//
// The model admits, delays, refuses and bills. It reads no clock, starts no
// goroutine and draws nothing at random that its seed, the body of a request
// and the count of earlier arrivals of that body do not fix, so a run can be
// repeated and a retry draws anew. Whoever drives it passes non-decreasing
// times: a heap in a rehearsal, the scaled real clock in the server.
//
// It keeps its own table of models and prices and its own bucket arithmetic,
// and shares neither with the client side: a mistake shared by both sides would
// agree with every test.
//
// # Known limitations
//
// The provider does not publish everything. What facts/claude-api.md marks as
// unverified is a choice here, made where it is coded: texts of some refusals,
// what becomes of a request larger than a bucket (admitted when the bucket is
// full), whether refused requests use up a limit (no), and which limit is named
// when several bind (requests, then input, then output).
//
// Message Batches are not served: their endpoints answer 404, and the scenarios
// that differ in them alone do not exist. Responses are never compressed.
// Overrides of limits by workspace are in the model ([Org.Workspace]) but not in
// the Rate Limits API. Images and documents count a fixed number of tokens or
// pages; tools are counted by their bytes and never called; thinking is accepted
// and produces none. The answers are words, not sense, unless a scenario has
// rules for them ([AnswerRule]).
package emulator

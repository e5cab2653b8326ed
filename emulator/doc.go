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
// How the provider works batches off is not known: the scheduler of [Batching]
// is a fluid one, in which a batch has a rate and no row a latency of its own.
// Its draws are keyed by how-many-th batch of its org a batch is, because its
// custom_ids may be new in every run; its answers are keyed as those of the sync
// tier. Rows of one batch share what they write to the prompt cache, with each
// other alone. A create of more than 100,000 rows answers 400, a full queue is
// refused in the words of the table of limits, params are looked at by the
// catalog of the create's time, and results are not offered in ranges.
// Responses are never compressed.
// Overrides of limits by workspace are in the model ([Org.Workspace]) but not in
// the Rate Limits API. Images and documents count a fixed number of tokens or
// pages; tools are counted by their bytes and called only where tool_choice
// forces one, with a sample of what its schema takes, or a rule says so; thinking
// is accepted and produces none. The answers are words, not sense, unless a
// scenario has rules for them ([AnswerRule]); a stop sequence that occurs in them
// ends them.
package emulator

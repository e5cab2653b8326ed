// Package sched decides which call goes out on which lane and when. It never
// waits, reads no clock, does no I/O and starts no goroutine: it is told what
// happened and when, and answers what to do.
//
// A [Core] mirrors the provider's token buckets per lane from the limit headers
// of answers, paces dispatch in proportion to the mirrored level, guards it by
// a window (etiquette cap, Little's law, ramp, AIMD, output, overload brake),
// tells the kinds of refusal apart, reserves money before each attempt, and
// owns every retry. The law and its numbers are facts/control.md, parts B and
// C; comments cite its sections.
//
// A batch is one thing to it, not its rows: it decides how many of what pool go
// into one, by which org, how many may be outstanding there, when it is asked
// about, whether it stalled, and what of it sync should take instead so that all
// ends in time, or as soon as possible.
//
// # What the driver owes
//
//  1. It calls [Core.Step] from one goroutine, with times that do not decrease,
//     and carries out the actions in order before the next Step, for they live
//     in memory that Step reuses.
//  2. It sends a [Tick] when [Core.Next] is due. A Tick before that does nothing.
//  3. It makes a [Persist] durable before it begins the [Send] that follows it.
//  4. It makes exactly one HTTP exchange for each Send, without retries of its
//     own, its libraries or its connections, and answers each with exactly one
//     of [Done], [Refused] or [Failed]; before that it may report [Headers],
//     once, and [Progress].
//  5. It cancels an exchange on [Abort] and still answers for it.
//  6. It keeps the answer or error of an attempt until its call settles:
//     [Settle] names the attempt that stands. A call settles once. Calls in
//     flight when their stream was closed may end without one.
//  7. It opens lanes before it offers calls for their pools: a call whose pool
//     has lanes that all deny its model settles Unroutable, and one whose pool
//     has none waits.
//  8. It closes or pauses a stream before it aborts attempts by itself: an
//     attempt that ends Aborted without the core's wish is sent again.
//  9. It offers calls in pieces if it likes, but says [Exhausted] with or after
//     the last: without it the end of the work is not known to be one.
//  10. After [Want] it may raise the ledger by [SetLedger], or not: whether a
//     stream is stopped by money is told by [StreamView].
//  11. After a sleep of the machine it says [Woke] before anything else.
//
// For streams whose [Route] takes batches, moreover:
//
//  12. It says what the source's far end has left by [Backlog], whenever that
//     changed by something else than a [Gather], and after each [Gathered];
//     for sync it pulls as many rows as [StreamView] wants, and only such as no
//     batch may carry where it says so.
//  13. It answers a [Gather] with Gathered in the same turn.
//  14. It makes a [PersistBatch] durable, with the rows, before it begins the
//     [SubmitBatch] that follows it, and keeps those rows until the batch was
//     collected or released ([ReleaseBatch] gives them back to the source).
//  15. It makes one HTTP exchange for each SubmitBatch, [PollBatch] and
//     [CancelBatch], as many as it takes for a [FindBatch], [ListBatches] or
//     [CollectBatch], and answers each once. An error is [BatchRefused] only
//     where it proves that no batch was made; all else is [BatchFailed].
//  16. It reads a batch's results by custom_id, settles and gives back its rows,
//     and has all of that durable before it says [BatchCollected]; of a batch
//     that is not proven ours it believes no row that does not name one of ours.
//  17. It polls and cancels nothing by itself, and closes a stream before it
//     leaves batches behind; the next process takes them over by [AdoptBatch].
//
// Identical configuration and identical (time, event) pairs give identical
// actions; [Replay] reads a log of them.
//
// # Known limitations
//
// A call has one affinity: of several marks in it, the beginnings before the one
// it goes by may be written more often than once an org. A beginning counts as
// kept for five minutes, though it may be marked for an hour.
//
// The combined tokens limit of a workspace is charged at dispatch with the
// expected output. Offsets between our wall clock and the provider's only
// matter to acceleration ceilings, which begin each minute a second late.
//
// A batch whose create is in doubt holds its rows and its money for two minutes
// at least. How many batches an org works off at once is not learned as a number:
// the window only stops to grow where they wait for each other. A stall that a
// queue's depth made is told from others by nothing but the depth at which it
// came, so that an org may be held below that for hours without need.
package sched

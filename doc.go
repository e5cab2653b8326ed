// Package flotilla finishes very many Claude calls in the least time inside the
// money and the manners you set, over all the orgs whose keys you hold.
//
// Most programs need two calls: [New] makes a [Fleet] out of keys, and
// [Fleet.Dispatch] makes the calls that an iterator yields and yields their
// results as they complete. A failed call is a [Result] whose Err says so; a
// cap that is reached ends the iteration with a [BudgetExceededError].
//
// A Fleet mirrors the server's token buckets from the headers of its answers
// and paces calls so that it needs no refusal to learn its place; it knows each
// refusal's kind, owns all retries, leaves room for colleagues on the same key,
// and never spends more than it was allowed. Two Dispatches on one Fleet share
// its lanes by priority and weight.
//
// What must survive a crash is kept by a [Store]: the journal package is one on
// SQLite. Programs that can read a request again by its position, as a job over
// a file can, use [Fleet.Carry] with a [Source] in place of Dispatch. A Store
// keeps records; resuming a job from them is the program's (the command's
// internal/job does it for files).
//
// Requests go out by calls (the sync tier), in Message Batches (the batch tier,
// at half price and in its own time), or both: see [Route]. Batches take from
// the far end of a [Deque] while calls take from the near one. A batch whose
// create may have been carried out is looked for before its rows go anywhere
// else; one that is left running is named in the [Report], and the next run
// takes it over.
//
// Programs that make calls one by one, such as a server for others, use a
// [Line]: a caller's calls at one priority, answered as they arrive, streams byte
// for byte. [Fleet.Transport] is the same behind an http.Client, so that any SDK
// of the API goes through the fleet. Lines, Dispatches and Carries may share
// money by a [Pot]; [Fleet.Forward] passes on what costs nothing.
//
// # Known limitations
//
// A line keeps no intent of each call: after a crash all that is left of its open
// blocks of money, some calls' worth, is in doubt, and which calls it was for is
// not known. What the caller of a stream reads slowly holds its place in a lane
// meanwhile. Ledgers of jobs that ended, 40 bytes each, stay until the fleet is
// closed.
//
// An iterator is pulled some ten thousand requests or 64 MiB ahead, with batches
// up to 192 MiB more, so requests must not depend on results. Two processes that
// share an org see each other's batches as others'. A batch found by its time
// and size alone is never cancelled before its results prove whose it is: where
// it does not end, its rows wait until it has expired.
package flotilla

// Package journal keeps every intent, attempt and result of a fleet in SQLite,
// so that a job can stop at any moment and go on.
//
// [Open] a journal, [Journal.Begin] a job, hand the Journal to a fleet as its
// [flotilla.Store], and read what is settled back with [Job.State] and
// [Job.Answers]. [Memory] is the same journal without a file.
//
// # What is kept
//
// An intent is committed before its attempt is sent, an outcome with its answer
// before anybody is shown it. Tables are only ever appended to by a run: nothing
// finished is changed or deleted by one (facts/peer-faults.md 18); only
// [Journal.Prune] and [Journal.Remove], asked for by a person, delete.
// An intent of a dead process without an attempt or outcome is in doubt: its
// worst case counts as spent until [Journal.ClearDoubt].
//
// A batch goes on when its process dies: its rows are not in doubt but in the
// batch, and what they may cost stays reserved until each has come back, or the
// batch is closed ([Job.Batches], [Journal.OpenBatches]).
//
// Single calls of a gateway have no intents: their line reserves blocks of money
// ahead, and what is left of one when its process dies is in doubt as a whole. It
// counts on every local day that the block is open, so that no cap per day is
// overdrawn over midnight, and after a crash on the last day on which the run
// booked or was granted anything.
//
// Of a gateway the journal keeps its clients, by the hash of their keys, and the
// batches that they created, each carried by a job ([Journal.PutClientBatch]).
//
// Keys are in no table: an org is known by the name its owner gave it.
//
// # Sharing
//
// Any number of processes may have one journal open. They share the concurrency
// cap of a key by leases ([Journal.Lease]) and a cap per day by grants
// ([Journal.Grant]); one job belongs to one process at a time.
//
// # Known limitations
//
// On a network file system one process at a time has the journal, since WAL
// needs memory shared between its readers ([Journal.Exclusive] tells). A process
// of another host or pid namespace is taken for dead when it has shown no sign
// of life for five minutes, since its pid says nothing here.
//
// A program that opens and closes the journal's file by other means drops the
// locks that SQLite holds on it in the same process (fcntl(2)).
//
// Opening a journal switches modernc.org/sqlite to fdatasync in the whole process.
package journal

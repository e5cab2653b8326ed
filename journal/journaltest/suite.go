package journaltest

import (
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// Run holds a journal to the suite. Open gives an empty one for each test and
// closes it at the test's end.
func Run(t *testing.T, open func(t testing.TB) Book) {
	tests := []struct {
		name string
		run  func(*testing.T, Book)
	}{
		{"job goes on where it stopped", goesOn},
		{"other rows are another job", otherJob},
		{"fresh leaves finished jobs alone", fresh},
		{"one process has a job", oneHolder},
		{"every field comes back", everyField},
		{"answers come in order of settling", settleOrder},
		{"a retried row stands as it settled last", retried},
		{"own failures are told from the lane's", ownFailures},
		{"an unknown outcome is refused whole", refusedWhole},
		{"money of all invocations", spentOver},
		{"money belongs to the day of sending", midnight},
		{"in doubt until cleared", doubtCleared},
		{"an ended run keeps no grant", grantEnds},
		{"peer-fault 23: what one reserves another cannot", dayCap},
		{"an emulator's answer is none of Claude's", provenance},
		{"peer-fault 19: successes alone are found by hash and count", cached},
		{"removing a job keeps what others have of it", removed},
		{"removing a job keeps what it has of others", borrowed},
		{"peer-fault 18: nothing finished is deleted by a run", nothingDeleted},
		{"only ended jobs are pruned", pruned},
		{"daily tokens by org and pool", dayTokens},
		{"hints last", hints},
		{"signals reach the holder", signals},
		{"durable offset of OUT", outOffset},
		{"jobs are listed and found", listed},
		{"audit finds what does not add up", audited},
		{"a lone lease has the whole cap", loneLease},
		{"peer-fault 10: a batch goes on in the next run", batchGoesOn},
		{"a batch that was never made gives everything back", batchReleased},
		{"a lost batch leaves doubts", batchLost},
		{"rows of a batch come back once", batchTwice},
		{"own failures in batches are told by status", batchFailures},
		{"steps without an intent are refused whole", batchRefused},
		{"open batches keep their job", batchKeepsJob},
		{"money of a batch belongs to the day of sending", batchMidnight},
		{"what batches hold of a client's day is told apart", batchOfClientsDay},
		{"open batches of all jobs are listed", batchesListed},
		{"batches tell how long they took", turnarounds},
		{"answers tell how long they were", outputs},
		{"a look takes nothing", peeked},
		{"calls draw on a block", blockDrawn},
		{"what a crash leaves of a block is in doubt", blockLost},
		{"calls without a block are refused whole", blockRefused},
		{"a block counts on every day that it is open", blockMidnight},
		{"rows of calls are numbered on", rowsGrow},
		{"clients come, are revoked and come again", clients},
		{"batches of clients last", clientBatches},
		{"a batch of a client is changed by one at a time", clientBatchChanges},
		{"a batch that a client may ask for keeps its job", clientBatchKeepsJob},
		{"caps reach the holder", caps},
		{"what makes a job's rows is kept", shapes},
		{"successes of all jobs are found", successes},
		{"rows are listed without their answers", rowsListed},
		{"equal to the slow twin", twin},
		{"money of lines is never too little", blockTwin},
		{"batches equal to the slow twin's", batchTwin},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { tt.run(t, open(t)) })
	}
}

func begin(t testing.TB, b Book, spec journal.JobSpec) Job {
	t.Helper()
	job, err := b.Begin(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func end(t testing.TB, job Job, state string) {
	t.Helper()
	if err := job.End(t.Context(), state, nil); err != nil {
		t.Fatal(err)
	}
}

func add(t testing.TB, b Book, records ...flotilla.Record) {
	t.Helper()
	if err := b.Append(records); err != nil {
		t.Fatal(err)
	}
}

func state(t testing.TB, job Job) *journal.State {
	t.Helper()
	st, err := job.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func answers(t testing.TB, job Job, after int64) (all []journal.Answer) {
	t.Helper()
	for a, err := range job.Answers(t.Context(), after) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

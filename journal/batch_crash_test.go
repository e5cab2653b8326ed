package journal_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/journal/journaltest"
)

const batchRows = 8

// batchCommits are what a small batch job commits, beside a call by sync: two
// batches, one answered in two pieces, one cancelled.
func batchCommits(job int64) [][]flotilla.Record {
	return [][]flotilla.Record{
		{journaltest.Intent(job, 0, 1, 90), journaltest.Sent(job, 1, 300, 1, 2, 3)},
		{journaltest.Step(job, 1, flotilla.BatchMade), journaltest.Sent(job, 2, 400, 4, 5, 6, 7)},
		{journaltest.Step(job, 2, flotilla.BatchMade), journaltest.Settled(job, 0, 1, "succeeded", 40)},
		{journaltest.Carried(job, 1, 2, "succeeded", 100, 20)},
		{journaltest.Step(job, 2, flotilla.BatchCanceling), journaltest.Carried(job, 1, 1, "succeeded", 100, 20)},
		{journaltest.Back(job, 1, 3, 100, 100, true), journaltest.Step(job, 1, flotilla.BatchClosed), journaltest.Intent(job, 3, 2, 90)},
		{journaltest.Carried(job, 2, 4, "succeeded", 100, 20), journaltest.Back(job, 2, 5, 100, 0, false), journaltest.Back(job, 2, 6, 100, 0, false)},
		{journaltest.Carried(job, 2, 7, "errored", 100, 0), journaltest.Step(job, 2, flotilla.BatchClosed)},
	}
}

// sendBatches commits them one after another, each when it is told to.
func sendBatches(ctx context.Context, j *journal.Journal) error {
	job, err := j.Begin(ctx, journaltest.Spec("batches", batchRows))
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	fmt.Println("begun")
	for _, group := range batchCommits(job.ID) {
		if !in.Scan() {
			return in.Err()
		}
		if err := j.Append(group); err != nil {
			return err
		}
		fmt.Println("committed")
	}
	_ = in.Scan()
	return nil
}

// TestKilledBatches kills a process after every commit of a batch job, and in
// the middle of one: what the next finds is what was committed, as if the run
// had been ended there. Rows in batches are in no doubt and not free, and what
// they may cost stays reserved.
func TestKilledBatches(t *testing.T) {
	want := batchPictures(t)
	for k := range want {
		for _, midway := range []bool{false, true} {
			p := path(t)
			c := start(t, "batches", p)
			c.line()
			for range k {
				c.say("go")
			}
			if midway && k < len(want)-1 {
				_, _ = fmt.Fprintln(c.in, "go")
			}
			c.kill()
			got := batchPicture(t, open(t, p, journal.Options{}))
			if got != want[k] && (!midway || k == len(want)-1 || got != want[k+1]) {
				t.Errorf("killed after %d commits, midway %v (-want +got):\n%s", k, midway, cmp.Diff(want[k], got))
			}
		}
	}
}

// TestTornBatches spoils the write-ahead log of a killed batch job anywhere:
// what remains is what some commit left.
func TestTornBatches(t *testing.T) {
	want := batchPictures(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	p := path(t)
	c := start(t, "batches", p)
	c.line()
	for range len(want) - 1 {
		c.say("go")
	}
	c.kill()
	db, wal := readFile(t, p), readFile(t, p+"-wal")
	seen := map[string]bool{}
	for range 24 {
		torn := append([]byte(nil), wal...)
		at := rng.IntN(len(torn))
		if rng.IntN(2) == 0 {
			torn = torn[:at]
		} else {
			torn[at] ^= 0x5a
		}
		copied := filepath.Join(t.TempDir(), "journal.db")
		writeFile(t, copied, db)
		writeFile(t, copied+"-wal", torn)
		got := batchPicture(t, open(t, copied, journal.Options{}))
		if !slices.Contains(want, got) {
			t.Fatalf("cut at %d of %d:\n%s\nis what no commit left", at, len(wal), got)
		}
		seen[got] = true
	}
	if len(seen) < 2 {
		t.Errorf("24 torn logs gave %d pictures: the test tears nothing", len(seen))
	}
}

// batchPictures are how the job stands after each commit, from a journal in
// memory whose run was ended there.
func batchPictures(t *testing.T) (pictures []string) {
	t.Helper()
	for k := range len(batchCommits(0)) + 1 {
		j := closing(t, journal.Memory())
		job, err := j.Begin(t.Context(), journaltest.Spec("batches", batchRows))
		if err != nil {
			t.Fatal(err)
		}
		for _, group := range batchCommits(job.ID)[:k] {
			add(t, j, group...)
		}
		if err := job.End(t.Context(), journal.Stopped, nil); err != nil {
			t.Fatal(err)
		}
		pictures = append(pictures, batchPicture(t, j))
	}
	return pictures
}

// batchPicture is all that a resume goes by, on lines.
func batchPicture(t *testing.T, j *journal.Journal) string {
	t.Helper()
	job, err := j.Begin(t.Context(), journaltest.Spec("batches", batchRows))
	if err != nil {
		t.Fatal(err)
	}
	st := state(t, job)
	var b strings.Builder
	fmt.Fprintf(&b, "%v spent, %v held for %d, %v in %d doubts\n", st.Spent, st.Held, st.Batches, st.Doubt, st.Doubts)
	for row := range batchRows {
		fmt.Fprintf(&b, "row %d %v, in a batch %v, in doubt %v\n", row, st.Outcome(row), st.InBatch(row), st.InDoubt(row))
	}
	list, err := job.Batches(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		fmt.Fprintf(&b, "batch %d %q rows %v, %v reserved, canceling %v\n", o.Number, o.ID, o.Rows, o.Worst, o.Canceling)
	}
	a, err := j.Audit(t.Context(), job.ID, nil)
	if err != nil || a.Booked != a.Counted || len(a.Adrift)+len(a.Doubled) > 0 {
		t.Errorf("audit %+v, %v", a, err)
	}
	if err := job.End(t.Context(), journal.Stopped, nil); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

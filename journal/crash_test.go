package journal_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/journal/journaltest"
)

// TestKilled kills a writing process at random moments, time and again on one
// journal: every commit it spoke of is there, nothing half, and what it had
// only sent is in doubt.
func TestKilled(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	p := path(t)
	settled := 0
	for kill := range 6 {
		c := start(t, "write", p)
		for range 1 + rng.IntN(120) {
			settled = atoi(t, c.line())
		}
		// What it committed while we were reading is in the pipe.
		_ = c.cmd.Process.Kill()
		for line, err := c.out.ReadString('\n'); err == nil; line, err = c.out.ReadString('\n') {
			settled = atoi(t, line[:len(line)-1])
		}
		c.kill()
		got := settledRows(t, p, kill+1)
		if got < settled {
			t.Fatalf("kill %d: %d rows are settled, %d were said to be", kill, got, settled)
		}
	}
}

// TestKilledServing kills a process in the middle of blocks: what it charged is
// there, and what it had reserved and not used is in doubt, a block a kill at
// most.
func TestKilledServing(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	p := path(t)
	known := flotilla.Money(0)
	for kill := range 4 {
		c := start(t, "serve", p)
		told := 0
		for range 1 + rng.IntN(45) {
			told = atoi(t, c.line())
		}
		c.kill()
		j := open(t, p, journal.Options{})
		jobs, err := j.Jobs(t.Context(), time.Time{})
		if err != nil || len(jobs) != 1 {
			t.Fatalf("%d jobs, %v", len(jobs), err)
		}
		before, err := j.Audit(t.Context(), jobs[0].ID, nil)
		if err != nil || before.Booked != before.Counted || jobs[0].Holder != nil {
			t.Fatalf("audit before anybody has seen that it died: %+v, %v", before, err)
		}
		spec := journaltest.Spec("calls", 0)
		spec.Kind = journal.KindServe
		job, err := j.Begin(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		st := state(t, job)
		n := st.Counts[journal.Succeeded]
		if n < told || st.Rows() != n || st.Doubts > kill+1 || st.Doubt > 500*moneyOf(kill+1) || st.Spent != 7*moneyOf(n)+st.Doubt {
			t.Fatalf("%d of %d rows, %d were told; %d in doubt after %d kills: %v spent, %v in doubt", n, st.Rows(), told, st.Doubts, kill+1, st.Spent, st.Doubt)
		}
		a, err := j.Audit(t.Context(), job.ID, nil)
		if err != nil || a.Booked != a.Counted || a.Open != 0 || len(a.Blocks) > 0 || len(a.Doubled) > 0 {
			t.Fatalf("audit %+v, %v", a, err)
		}
		if known += before.Open; st.Doubt != known {
			t.Fatalf("%v in doubt, and %v was open when they died", st.Doubt, known)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// settledRows opens the journal and checks that the settled rows are the first
// ones, each with its answer and paid once, and that there is a doubt a kill or
// more: each commit leaves the intents open that its groups added.
func settledRows(t *testing.T, path string, kills int) int {
	t.Helper()
	j := open(t, path, journal.Options{})
	job, err := j.Begin(t.Context(), journaltest.Spec("kill", 1<<20))
	if err != nil {
		t.Fatal(err)
	}
	st := state(t, job)
	n := st.Counts[journal.Succeeded]
	for a, err := range job.Answers(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		if a.Row >= n || !st.Stands(&a) || len(a.Body) == 0 {
			t.Fatalf("answer %+v of %d settled rows", a, n)
		}
	}
	if st.Doubts < kills || st.Doubt != 500*moneyOf(st.Doubts) || st.Spent != 100*moneyOf(n)+st.Doubt {
		t.Fatalf("%d rows, %d in doubt after %d kills: %v spent, %v in doubt", n, st.Doubts, kills, st.Spent, st.Doubt)
	}
	if a, err := j.Audit(t.Context(), job.ID, nil); err != nil || a.Booked != a.Counted || len(a.Doubled) != 0 {
		t.Fatalf("audit %v: booked %v, counted %v, doubled %v", err, a.Booked, a.Counted, a.Doubled)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestTornLog cuts and spoils the end of a dead process's write-ahead log: what
// remains is a beginning of the commits, whole.
func TestTornLog(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	p := path(t)
	c := start(t, "write", p)
	for range 60 {
		c.line()
	}
	c.kill()
	db, wal := readFile(t, p), readFile(t, p+"-wal")
	whole := settledRows(t, p, 1)
	for range 12 {
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
		// The first commits hold the schema and the job; before them there are no rows.
		if n := settledRows(t, copied, 0); n > whole {
			t.Fatalf("cut at %d of %d: %d rows of %d", at, len(wal), n, whole)
		}
	}
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

package plan

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// Tokens of a call and of the marked document before it.
const question, document = 300, 4000

// documentWork is questions behind a document: so many
// calls to each, one after the other; 0: fifty documents in turn.
func documentWork(rows int, marked bool) func(i int) Call {
	plain := judgeWork(7, sonnet)
	return func(i int) Call {
		c := plain(i)
		p := emulator.Prefix{Tokens: document, TTL: 5 * time.Minute}
		doc := i % 50
		if rows > 0 {
			doc = i / rows
		}
		binary.LittleEndian.PutUint64(p.Hash[:], uint64(1+doc))
		c.Arrival.Est, c.Arrival.In = document+question, question
		c.Arrival.Prefixes = []emulator.Prefix{p}
		c.Sched.In, c.Sched.Worst = document+question, worst(2*(document+question), 256)
		if marked {
			c.Sched.Affinity = uint32(1 + doc)
		}
		return c
	}
}

// Each beginning is written once, by as few orgs as take part in its calls, and
// the job takes no longer for it: what is read uses up no input limit.
func TestCachesAreWrittenOnce(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name       string
		n, rows    int // of the job, of a document
		orgs, docs int
		writes     int // at most
		without    int // writes without affinity, at least
	}{
		{"one document, one org", 120, 120, 1, 1, 1, 1}, // a fresh lane sends one ahead in any case
		{"one document, three orgs", 120, 120, 3, 1, 3, 3},
		{"one document, more calls", 600, 600, 3, 1, 3, 3},
		{"many documents, one org", 2000, 10, 1, 200, 210, 1500},
		{"many documents", 6000, 10, 3, 600, 900, 5000},
		{"many documents, in turn", 2000, 0, 3, 50, 155, 160},
	} {
		run := func(marked bool) (*Outcome, int) {
			sc := named(t, "default")
			sc.Orgs = sc.Orgs[:c.orgs]
			o := at(t, sc, 9, 5, Setting{
				Core: sched.Config{Seed: 3}, Lanes: bothTiers(&sc, sonnet, 100)[:c.orgs], N: c.n,
				Calls: documentWork(c.rows, marked), Streamed: true, Stream: sched.StreamConfig{N: int64(c.n)},
			})
			return o, int(math.Round(float64(o.Input-question*int64(c.n)) / document))
		}
		with, writes := run(true)
		without, usual := run(false)
		t.Logf("%s: %d writes in %v for $%.2f; without affinity %d in %v for $%.2f",
			c.name, writes, with.Ended, float64(with.Billed)/1e9, usual, without.Ended, float64(without.Billed)/1e9)
		if least := c.docs; writes < least*9/10 || writes > c.writes || usual < c.without {
			t.Errorf("%s: %d documents are written %d times, at most %d wanted; without affinity %d", c.name, c.docs, writes, c.writes, usual)
		}
		if with.Ended > without.Ended+without.Ended/10 {
			t.Errorf("%s: it took %v, without affinity %v", c.name, with.Ended, without.Ended)
		}
	}
}

package dashboard

import (
	"context"
	"fmt"
	"sync"

	"github.com/flotilla-llm/flotilla/journal"
)

// numOutcomes is how many outcomes a row can have, pending included.
const numOutcomes = int(journal.Canceled) + 1

// tally is how the rows of one job stand, kept up with the journal: ten bytes a
// row. It is read whole once, then only what settled since.
type tally struct {
	mu     sync.Mutex
	loaded bool
	after  int64 // outcomes up to it are in it

	outcome []journal.Outcome
	stop    []uint8  // why the answer ended, by number
	at      []int64  // the answer that stands; 0: pending
	words   []string // of stop; 0: none
	counts  [numOutcomes]int
}

// catchUp brings the tally up to the journal.
func (t *tally) catchUp(ctx context.Context, j *journal.Journal, info *journal.JobInfo) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.loaded {
		st, err := j.StateOf(ctx, info.ID)
		if err != nil {
			return err
		}
		t.load(st)
	}
	t.grow(info.N)
	newest, err := j.Newest(ctx)
	if err != nil || newest <= t.after {
		return err
	}
	for r, err := range j.Rows(ctx, info.ID, t.after) {
		if err != nil {
			return err
		}
		t.settle(&r)
	}
	t.after = max(t.after, newest)
	return nil
}

func (t *tally) load(st *journal.State) {
	t.loaded, t.words = true, []string{""}
	t.grow(st.Rows())
	for row := range st.Rows() {
		if at := st.At(row); at > 0 {
			t.put(row, st.Outcome(row), t.word(st.Stop(row)), at)
		}
	}
	for _, at := range st.Superseded() {
		t.after = max(t.after, at)
	}
}

// grow makes room for so many rows.
func (t *tally) grow(n int) {
	if more := n - len(t.outcome); more > 0 {
		t.outcome = append(t.outcome, make([]journal.Outcome, more)...)
		t.stop = append(t.stop, make([]uint8, more)...)
		t.at = append(t.at, make([]int64, more)...)
		t.counts[journal.Pending] += more
	}
}

// settle takes in a row that has settled, or settled anew.
func (t *tally) settle(r *journal.Row) {
	t.after = max(t.after, r.ID)
	if r.Row < 0 {
		return
	}
	t.grow(r.Row + 1)
	t.put(r.Row, r.Type, t.word(r.StopReason), r.ID)
}

func (t *tally) put(row int, o journal.Outcome, stop uint8, at int64) {
	t.counts[t.outcome[row]]--
	t.counts[o]++
	t.outcome[row], t.stop[row], t.at[row] = o, stop, at
	t.after = max(t.after, at)
}

// maxStops bounds the stop reasons that are told apart; there are eight or so.
const maxStops = 250

func (t *tally) word(stop string) uint8 {
	for i, w := range t.words {
		if w == stop {
			return uint8(i)
		}
	}
	if len(t.words) >= maxStops {
		return 0
	}
	t.words = append(t.words, stop)
	return uint8(len(t.words) - 1)
}

// stops counts rows by outcome, and answers by why they ended, at one moment.
func (t *tally) stops() (counts [numOutcomes]int, reasons map[string]int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := make([]int, len(t.words))
	for row, o := range t.outcome {
		if o == journal.Succeeded {
			n[t.stop[row]]++
		}
	}
	reasons = map[string]int{}
	for i, n := range n {
		if n > 0 {
			reasons[t.words[i]] = n
		}
	}
	return t.counts, reasons
}

// counted is how many rows there are of each outcome.
func (t *tally) counted() [numOutcomes]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts
}

// standing is one row of a tally.
func (t *tally) standing(row int) (o journal.Outcome, stop string, at int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if row < 0 || row >= len(t.outcome) {
		return journal.Pending, "", 0
	}
	return t.outcome[row], t.words[t.stop[row]], t.at[row]
}

// statuses are the words that rows can be filtered by: outcomes, and the two
// kinds of success that people look for (interface.md, "Output").
var statuses = map[string]func(o journal.Outcome, stop string) bool{
	"pending":   func(o journal.Outcome, _ string) bool { return o == journal.Pending },
	"succeeded": func(o journal.Outcome, _ string) bool { return o == journal.Succeeded },
	"errored":   func(o journal.Outcome, _ string) bool { return o == journal.Errored },
	"expired":   func(o journal.Outcome, _ string) bool { return o == journal.Expired },
	"canceled":  func(o journal.Outcome, _ string) bool { return o == journal.Canceled },
	"truncated": func(o journal.Outcome, stop string) bool { return o == journal.Succeeded && stop == "max_tokens" },
	"refused":   func(o journal.Outcome, stop string) bool { return o == journal.Succeeded && stop == "refusal" },
}

// filter is the set of rows whose status is one of the words; all rows where
// there is no word.
func (t *tally) filter(words []string) (rowSet, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	set := newRowSet(len(t.outcome))
	if len(words) == 0 {
		set.fill(len(t.outcome))
		return set, nil
	}
	match := make([][]bool, numOutcomes) // by outcome and stop
	for o := range match {
		match[o] = make([]bool, len(t.words))
	}
	for _, word := range words {
		is := statuses[word]
		if is == nil {
			return nil, fmt.Errorf("there is no status %q", word)
		}
		for o := range match {
			for i, stop := range t.words {
				match[o][i] = match[o][i] || is(journal.Outcome(o), stop)
			}
		}
	}
	for row, o := range t.outcome {
		if match[o][t.stop[row]] {
			set.add(row)
		}
	}
	return set, nil
}

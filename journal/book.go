package journal

import "github.com/flotilla-llm/flotilla"

// book is what must be remembered of a run that goes on: which intents are
// open. It is bounded by what is in flight, not by the job.
type book struct {
	run, job int64
	realm    string // whose limits are used up: see realm
	born     bool   // its run is of a transaction that has not ended

	open map[int64]openIntent // by attempt
	wins map[int64]int64      // successes by lane
	undo []change             // what this transaction changed, oldest first
	sums map[due]*sum         // of this transaction

	batches map[int64]*batch // by number, those that were asked for
	changed []*batch         // of them, those that this transaction changed
	loaded  bool             // all open ones of earlier runs are among them

	blocks map[int64]*block // by number, those that were asked for
	drawn  []*block         // of them, those that this transaction changed

	grows bool // its rows are numbered as they come
	rows  int  // of one that grows: beyond the largest of this transaction

	spans []*span // of open intents, oldest first
	low   int64   // intent id below which the run row says none is open

	out     string // path of OUT; empty: none
	durable int64
	stale   bool // durable is not written yet
}

type openIntent struct {
	day   int // of sending: where its money belongs
	worst flotilla.Money
	wins  int64 // of its lane, when it was sent
	span  *span
}

// span is the intents of one transaction, and where the tables stood before it.
type span struct {
	before sequences
	live   int // open ones
}

// due is where money belongs: the run that sent, and the local day.
type due struct {
	run int64
	day int
}

// sum is what a transaction adds to a row of spend.
type sum struct{ spent, open, held flotilla.Money }

type change struct {
	attempt int64
	had     bool
	open    openIntent
}

func newBook(run, job int64, realm string, at sequences) *book {
	return &book{run: run, job: job, realm: realm, born: true, low: at.intent, open: map[int64]openIntent{}, wins: map[int64]int64{}, sums: map[due]*sum{}, batches: map[int64]*batch{}, blocks: map[int64]*block{}}
}

func (b *book) sum(day int) *sum { return b.sumOf(due{b.run, day}) }

func (b *book) sumOf(d due) *sum {
	s := b.sums[d]
	if s == nil {
		s = &sum{}
		b.sums[d] = s
	}
	return s
}

// intend opens an intent: its worst case is reserved.
func (b *book) intend(attempt int64, o openIntent) {
	b.set(attempt, o, true)
	b.sum(o.day).open += o.worst
}

// own says whether the failure of an attempt is its row's and not its lane's:
// other rows succeeded on the lane meanwhile (interface.md, Output).
func (b *book) own(attempt, lane int64) bool {
	o, ok := b.open[attempt]
	return ok && b.wins[lane] > o.wins
}

// end closes an attempt and books its charge on the day of its sending, which
// it returns; day is for one whose intent is not known.
func (b *book) end(attempt int64, day int, charged flotilla.Money) int {
	if o, ok := b.open[attempt]; ok {
		b.set(attempt, openIntent{}, false)
		b.sum(o.day).open -= o.worst
		day = o.day
	}
	if charged != 0 {
		b.sum(day).spent += charged
	}
	return day
}

func (b *book) set(attempt int64, o openIntent, open bool) {
	old, had := b.open[attempt]
	b.undo = append(b.undo, change{attempt, had, old})
	b.put(attempt, o, open)
}

func (b *book) put(attempt int64, o openIntent, open bool) {
	if old, had := b.open[attempt]; had {
		old.span.live--
	}
	if !open {
		delete(b.open, attempt)
		return
	}
	o.span.live++
	b.open[attempt] = o
}

// finish ends a transaction's changes: they stand, or are undone.
func (b *book) finish(committed bool) {
	if !committed {
		for i := len(b.undo) - 1; i >= 0; i-- {
			b.put(b.undo[i].attempt, b.undo[i].open, b.undo[i].had)
		}
		// How batches stand is read again from what was committed.
		clear(b.batches)
		clear(b.blocks)
		b.loaded = false
	}
	b.undo, b.born, b.changed, b.drawn, b.rows = b.undo[:0], false, b.changed[:0], b.drawn[:0], 0
	clear(b.sums)
	for len(b.spans) > 0 && b.spans[0].live == 0 {
		b.spans = b.spans[1:]
	}
}

package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/jobbook"
	"github.com/flotilla-llm/flotilla/internal/judge"
	"github.com/flotilla-llm/flotilla/journal"
)

// verdictBook is what the judges of one job have said, read from the answers that
// its journal keeps: sixteen bytes a verdict, and what statistics go by of each
// row. It is made when somebody looks, and kept up from request to request.
type verdictBook struct {
	reading, summing upkeep

	mu    sync.RWMutex // of what is below
	bench *bench       // nil: not opened yet
	fault string       // why there are no verdicts to read

	said   []verdict // by call
	labels wordList
	after  int64 // answers up to it are in said
	read   int   // verdicts in said
	caught bool  // said has been level with the journal

	facts   []rowFacts // of the first rows
	words   wordList   // of facts
	named   bool       // facts are of all rows
	missing string     // why there are no more facts

	version int // grows with all that changes a summary
	sum     bookSum
}

// bench is who judges a job, and how its calls are numbered
// ((row × asks + ask) × repeats + repeat).
type bench struct {
	panel   *judge.Panel
	judges  []*judge.Rubric
	by      string // field of groups; empty: none
	label   string // field of the rows' own labels; empty: none
	swap    bool
	asks    int // requests about a row
	repeats int // of each, 1 without --repeats
	counted bool
}

// verdict is what an answer comes to; status 0: there is none yet.
type verdict struct {
	score  float64 // NaN: none
	label  int32   // in verdictBook.labels; -1: none
	status uint8   // of judge.Statuses, from 1
}

// unsaid is no verdict.
var unsaid = verdict{score: math.NaN(), label: -1}

// rowFacts are what statistics go by of a row, in verdictBook.words.
type rowFacts struct {
	id           string
	group, label int32
}

// openBench reads who judges a job from what its journal keeps.
func openBench(info *journal.JobInfo) (*bench, error) {
	if info.Kind != journal.KindJudge {
		return nil, errors.New("this is no job of judges")
	}
	kept, err := job.KeptCraft(info.Shape)
	if err != nil {
		return nil, err
	}
	panel, err := judge.Open(kept, nil)
	if err != nil {
		return nil, err
	}
	var of struct {
		By, Label string
		Swap      bool
	}
	var shape struct {
		Shape struct{ Repeats int } `json:"shape"`
	}
	if err := errors.Join(json.Unmarshal(kept, &of), json.Unmarshal(info.Shape, &shape)); err != nil {
		return nil, err
	}
	return &bench{
		panel: panel, judges: panel.Judges(), by: of.By, label: of.Label, swap: of.Swap,
		asks: panel.Asks(), repeats: max(shape.Shape.Repeats, 1), counted: shape.Shape.Repeats > 0,
	}, nil
}

// place is what a call is about: repeat as lines have it, 0 without --repeats.
func (b *bench) place(call int) (row, ask, repeat int) {
	row, ask = call/b.repeats/b.asks, call/b.repeats%b.asks
	if b.counted {
		repeat = call%b.repeats + 1
	}
	return row, ask, repeat
}

// seat is the judge that a request of a row goes to, and whether the two
// completions change places in it.
func (b *bench) seat(ask int) (judge int, swapped bool) {
	orders := b.asks / len(b.judges)
	return ask / orders, ask%orders == 1
}

// perRow is how many calls a row makes.
func (b *bench) perRow() int { return b.asks * b.repeats }

// update starts to bring the book up to the journal, and waits for it for a
// while. The rows are read through the job's view.
func (k *verdictBook) update(d *jobDesk, v *jobView, info journal.JobInfo, wait time.Duration) {
	k.reading.run(d, wait, func(ctx context.Context) {
		if k.open(&info) {
			k.addVerdicts(ctx, d.journal, &info)
			k.addFacts(ctx, v, &info)
		}
	})
}

// level says that all verdicts and rows are in the book.
func (k *verdictBook) level() bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.fault != "" || k.caught && (k.named || k.missing != "")
}

// open says whether there are verdicts to read.
func (k *verdictBook) open(info *journal.JobInfo) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bench == nil && k.fault == "" {
		b, err := openBench(info)
		if err != nil {
			k.fault = err.Error()
			return false
		}
		k.bench = b
	}
	if more := info.N - len(k.said); k.bench != nil && more > 0 {
		k.said = append(k.said, slices.Repeat([]verdict{unsaid}, more)...)
	}
	return k.bench != nil
}

// addVerdicts reads the answers that are not in the book yet.
func (k *verdictBook) addVerdicts(ctx context.Context, j *journal.Journal, info *journal.JobInfo) {
	type one struct {
		call int
		judge.Reading
	}
	b, after := k.bench, k.after // they change in this goroutine alone
	ready := make([]one, 0, chunk)
	flush := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		for _, r := range ready {
			k.put(r.call, &r.Reading)
		}
		if len(ready) > 0 {
			k.version++
		}
		k.after, ready = after, ready[:0]
	}
	defer flush()
	for a, err := range j.AnswersOf(ctx, info.ID, after) {
		if err != nil {
			return // what was read stands; the next request goes on
		}
		after = a.ID
		if a.Row < 0 || a.Row >= len(k.said) || a.Type == journal.Succeeded && a.Emulated != info.Realm.Emulated {
			continue
		}
		_, ask, _ := b.place(a.Row)
		of := jobbook.AnswerOf(&a)
		if ready = append(ready, one{a.Row, b.panel.ReadCall(ask, &of, false)}); len(ready) == chunk {
			flush()
		}
	}
	k.mu.Lock()
	k.caught = true
	k.mu.Unlock()
}

// statusOrder are the statuses by their numbers in the book.
var statusOrder = judge.Statuses()

// put takes in a verdict; a later one of the same call takes its place.
func (k *verdictBook) put(call int, g *judge.Reading) {
	v := unsaid
	v.status = uint8(slices.Index(statusOrder, g.Status) + 1)
	if g.Score != nil {
		v.score = *g.Score
	}
	if g.Label != nil {
		v.label = k.labels.number(*g.Label)
	}
	if k.said[call].status == 0 {
		k.read++
	}
	k.said[call] = v
}

// wordList numbers texts, each once.
type wordList struct {
	all []string
	at  map[string]int32
}

func (w *wordList) number(text string) int32 {
	if n, ok := w.at[text]; ok {
		return n
	}
	if w.at == nil {
		w.at = map[string]int32{}
	}
	n := int32(len(w.all))
	w.all, w.at[text] = append(w.all, text), n
	return n
}

package dashboard

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// textIndex is the text of a job's rows, for searching. It is filled in the
// background from the first request on, and kept up from request to request.
type textIndex struct {
	mu       sync.RWMutex // of what is below, but for building
	corpus   corpus
	reader   job.RowReader // nil: the rows cannot be read
	closer   io.Closer     // of reader; nil: it is somebody else's
	missing  string        // why reader is nil
	prompts  int           // rows whose prompt is in it
	after    int64         // the last answer that is in it
	answered int           // answers that are in it

	building sync.Mutex
	busy     chan struct{} // closed when what is being built is done; nil: nothing is; under building
	stop     context.CancelFunc
	used     time.Time // under jobDesk.mu
}

// chunk is how many rows are added at a time, while searches wait: about a
// millisecond.
const chunk = 256

// update starts to bring the index up to the journal where that is not under
// way, and waits for it for a while.
func (x *textIndex) update(d *jobDesk, info journal.JobInfo, wait time.Duration) {
	x.goOn(d, wait, func(ctx context.Context) { x.build(ctx, d, &info) })
}

// reach finds the job's rows alone, for who reads some of them and searches
// nothing, and waits for that for a while.
func (x *textIndex) reach(d *jobDesk, info journal.JobInfo, wait time.Duration) {
	x.goOn(d, wait, func(ctx context.Context) { x.open(ctx, d, &info) })
}

// goOn begins work in the background where none is under way, and waits for what
// is.
func (x *textIndex) goOn(d *jobDesk, wait time.Duration, do func(context.Context)) {
	x.building.Lock()
	if x.busy == nil {
		ctx, stop := context.WithCancel(d.ctx)
		done := make(chan struct{})
		began := d.goOn(func() {
			defer stop()
			do(ctx)
			x.building.Lock()
			defer x.building.Unlock()
			x.busy = nil
			close(done)
		})
		if !began {
			stop()
			x.building.Unlock()
			return
		}
		x.busy, x.stop = done, stop
	}
	busy := x.busy
	x.building.Unlock()
	patience := time.NewTimer(wait)
	defer patience.Stop()
	select {
	case <-busy:
	case <-patience.C:
	}
}

// build adds what is missing: prompts once, then answers.
func (x *textIndex) build(ctx context.Context, d *jobDesk, info *journal.JobInfo) {
	x.open(ctx, d, info)
	x.addPrompts(ctx)
	x.addAnswers(ctx, d.journal, info)
}

// open finds out how the job's rows are read.
func (x *textIndex) open(ctx context.Context, d *jobDesk, info *journal.JobInfo) {
	x.mu.RLock()
	have, ours, missing := x.reader != nil, x.closer != nil, x.missing
	x.mu.RUnlock()
	if ours || missing != "" && info.Holder == nil {
		return
	}
	if live := d.liveRows(info); live != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.reader, x.missing = live, ""
		return
	}
	if have && info.Holder != nil {
		return // its run is about to end
	}
	kept, missing := d.keptRows(ctx, info)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.reader, x.missing = nil, missing
	if kept != nil {
		x.reader, x.closer = kept, kept
	}
}

func (x *textIndex) addPrompts(ctx context.Context) {
	x.mu.RLock()
	reader, from := x.reader, x.prompts
	x.mu.RUnlock()
	if reader == nil {
		return
	}
	n := reader.Len()
	texts := make([][]byte, 0, chunk)
	for from < n && ctx.Err() == nil {
		texts = texts[:0]
		for row := from; row < min(n, from+chunk); row++ {
			text, err := promptText(reader, row)
			if errors.Is(err, os.ErrClosed) {
				return // its run has just ended: the next request reads its inputs
			}
			texts = append(texts, text)
		}
		x.mu.Lock()
		for i, text := range texts {
			x.corpus.put(from+i, false, text)
		}
		from += len(texts)
		x.prompts = from
		x.mu.Unlock()
	}
}

// promptText is the folded id and text of a row. A row that cannot be read has
// its id alone, and the error says why.
func promptText(reader job.RowReader, row int) ([]byte, error) {
	text := fold(nil, reader.ID(row))
	body, err := reader.Body(row)
	if err != nil {
		return text, err
	}
	return foldAll(text, body), nil
}

// foldAll appends the strings of a JSON value, each after a sign that is in no
// query: nothing is found over the end of one.
func foldAll(text, raw []byte) []byte {
	stringsOf(raw, func(s string) bool {
		text = append(text, betweenStrings)
		text = fold(text, s)
		return len(text) <= maxDocument
	})
	return text
}

const betweenStrings = '\r'

func (x *textIndex) addAnswers(ctx context.Context, j *journal.Journal, info *journal.JobInfo) {
	type one struct {
		row  int
		text []byte
	}
	x.mu.RLock()
	after := x.after
	x.mu.RUnlock()
	var ready []one
	flush := func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		for _, a := range ready {
			x.corpus.put(a.row, true, a.text)
		}
		x.answered, x.after, ready = x.answered+len(ready), after, ready[:0]
	}
	for a, err := range j.AnswersOf(ctx, info.ID, after) {
		if err != nil {
			break // what was read stands; the next request goes on
		}
		after = a.ID
		if a.Row < 0 || a.Type == journal.Succeeded && a.Emulated != info.Realm.Emulated {
			continue
		}
		if ready = append(ready, one{a.Row, foldAll(nil, a.Body)}); len(ready) == chunk {
			flush()
		}
	}
	flush()
}

// close ends what is under way and lets go of the rows.
func (x *textIndex) close() {
	x.building.Lock()
	busy := x.busy
	if busy != nil {
		x.stop()
	}
	x.building.Unlock()
	if busy != nil {
		<-busy
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closer != nil {
		_ = x.closer.Close()
	}
	x.reader, x.closer, x.missing, x.corpus, x.prompts, x.after, x.answered = nil, nil, "", corpus{}, 0, 0, 0
}

// found is what a search came to.
type found struct {
	rows     rowSet
	searched string
	indexed  float64 // how much of what there is has been searched, 0 to 1
}

// search looks for all terms among n rows, of which so many have settled.
func (x *textIndex) search(terms [][]byte, n, settled int) found {
	x.mu.Lock() // what is found is remembered
	defer x.mu.Unlock()
	f := found{rows: x.corpus.search(terms, n), searched: "answers"}
	have, want := min(x.answered, settled), settled
	if x.reader != nil {
		f.searched = "ids, prompts, answers"
		have, want = have+x.prompts, want+n
	}
	if x.corpus.cut {
		f.searched += ", as far as there was room"
	}
	f.indexed = 1
	if want > 0 {
		f.indexed = min(float64(have)/float64(want), 1)
	}
	return f
}

// rows gives the reader of the job's rows; nil: why there is none.
func (x *textIndex) rows() (job.RowReader, string) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.reader, x.missing
}

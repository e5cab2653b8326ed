package job

import (
	"context"
	"errors"
	"io"
	"os"
	"time"
)

// writer brings settled calls to OUT, each once, and keeps OUT in step with the
// journal over any number of runs.
type writer struct {
	o        *Output
	x        *index
	book     Book
	form     outForm
	lines    liner
	sink     sink
	standing Standing // when the run began, adopted answers included
	settled  int      // calls that settled in this run
	old      standingOut
	seen     int64          // size of the OUT that was looked at
	cut      bool           // it is shorter than what the journal knows to be durable
	retried  map[int]string // calls that were sent again, and why
	chains   chains
	chase    func(call int) ([]uint64, error)
	broken   error // OUT takes no more
	spoolDir string
	rec      record
	buf      []byte
}

// openWriter looks at an OUT that is there, before anything is sent or changed.
func openWriter(ctx context.Context, o *Output, form outForm, x *index, book Book, known holding, chains chains, now time.Time, spoolDir string, say func(string)) (*writer, error) {
	w := &writer{
		o: o, x: x, book: book, form: form, lines: liner{x, o.Keep, chains},
		retried: map[int]string{}, chains: chains, spoolDir: spoolDir,
	}
	w.old = newStandingOut(x.calls())
	if form == outStream {
		return w, nil
	}
	info, err := os.Stat(o.Path)
	if errors.Is(err, os.ErrNotExist) || err == nil && info.Size() == 0 {
		return w, nil
	}
	if err != nil {
		return nil, o.fault(err)
	}
	w.seen = info.Size()
	err = w.examine(ctx, known)
	var foreign *ForeignError
	if errors.As(err, &foreign) && o.Overwrite {
		aside, err := setAside(o.Path, now)
		if err != nil {
			return nil, o.fault(err)
		}
		say(o.Path + " held other content and is now " + aside)
		w.old, w.seen = newStandingOut(x.calls()), 0
		return w, nil
	}
	return w, err
}

// examine reads the OUT that stands.
func (w *writer) examine(ctx context.Context, known holding) error {
	if w.form == outTable {
		return w.examineTable(ctx, known)
	}
	durable, err := w.book.Out(ctx, absolute(w.o.Path))
	if err != nil {
		return err
	}
	f, err := os.Open(w.o.Path)
	if err != nil {
		return w.o.fault(err)
	}
	defer f.Close()
	var text io.Reader = f
	if w.form == outPacked {
		u, err := openPackedText(f)
		if err != nil {
			return &ForeignError{w.o.Path, 1, err.Error()}
		}
		text, durable = u, 1<<62 // members carry checksums
		defer func() { w.old.torn = w.old.torn || u.torn }()
	}
	if w.form == outLines && w.seen < durable {
		w.cut, durable = true, 0 // somebody cut it: no line is taken on trust
	}
	w.chase = known.chase
	r := newOutReader(w, known.outcome)
	if err := r.read(text, durable, nil); err != nil {
		return err
	}
	if size := r.state.size; w.form == outLines && durable > size {
		return nil // no line ends where one did: it is another file, and is written anew
	}
	w.old = r.state
	return nil
}

// open makes OUT ready for lines: a torn tail goes, stale lines are replaced.
func (w *writer) open(ctx context.Context, standing Standing) (err error) {
	w.standing = standing
	switch w.form {
	case outTable:
		return nil
	case outStream:
		return w.openStream()
	}
	if _, err := w.book.Out(ctx, absolute(w.o.Path)); err != nil {
		return err
	}
	if w.cut {
		w.book.Wrote(0) // until the next sync
	}
	if w.old.amend || w.form == outPacked && w.old.torn {
		if w.old.size, err = w.rewrite(ctx, false, w.old.stale.has); err != nil {
			return err
		}
		w.old.amend, w.old.torn = false, false
		w.seen = w.old.size
	}
	if w.form == outPacked {
		w.old.size = w.seen
	}
	file, err := w.o.openFile(w.old.size, w.seen, w.book.Wrote)
	if err != nil {
		return err
	}
	w.sink = file
	if w.form != outPacked {
		return nil
	}
	pack, err := packer(w.o.Path)
	if err == nil {
		w.sink = &packedSink{file: file, pack: pack}
	}
	return err
}

func (w *writer) openStream() error {
	stream, err := w.o.openStream()
	if err != nil {
		return err
	}
	w.sink = stream
	if !w.o.ByInput {
		return nil
	}
	gate, err := newGate(stream, w.spoolDir, func(call int) bool { return call < w.x.calls() && !w.x.holds(call) })
	if err == nil {
		w.sink = gate
	}
	return err
}

// needs says that OUT lacks the line of a call that has an answer.
func (w *writer) needs(call int) bool { return w.form != outTable && !w.old.has.has(call) }

// settle takes the answer of a call that settled in this run; why is what
// --retry sent it again for, or empty.
func (w *writer) settle(a *Answer, why string) error {
	w.settled++
	if why != "" {
		w.retried[a.Row] = why
	}
	if w.old.has.has(a.Row) { // its line is there already, and stale now
		w.old.stale.add(a.Row)
		w.old.amend = true
		return nil
	}
	return w.write(a)
}

// superseded takes in an answer whose place a later one has taken. A run that
// was killed may have left its line in OUT, and the line does not tell.
func (w *writer) superseded(a *Answer) {
	if w.x.build.craft != nil && !w.chains.doubtful(a) {
		return // its line, if there is one, is known by its body
	}
	w.retried[a.Row] = w.x.build.retryOf(w.x.ask(a.Row), a)
	if w.old.has.has(a.Row) {
		w.old.stale.add(a.Row)
		w.old.amend = true
	}
}

// write adds the line of an answer.
func (w *writer) write(a *Answer) (err error) {
	if w.sink == nil {
		return nil
	}
	if err := w.x.read(a.Row/w.x.repeats, &w.rec); err != nil {
		return err
	}
	if w.buf, err = w.lines.lineOf(w.buf[:0], a, &w.rec, w.retried[a.Row]); err != nil {
		return err
	}
	w.old.note(a.Row)
	w.broken = w.sink.put(a.Row, w.buf)
	return w.broken
}

// finish ends the writing: what is stale is replaced, and lines and tables are
// put in order, by one rename. The journal is asked anew how calls stand.
func (w *writer) finish(ctx context.Context) error {
	if w.broken != nil {
		return nil // told already; what was written stays
	}
	if err := w.close(); err != nil {
		return err
	}
	var err error
	if w.standing, err = w.book.Standing(ctx); err != nil {
		return err
	}
	switch {
	case w.form == outTable:
		return w.table(ctx)
	case w.form == outStream, !w.old.amend && (!w.o.ByInput || w.old.ordered):
		return nil
	}
	size, err := w.rewrite(ctx, w.o.ByInput, w.old.stale.has)
	if err == nil {
		w.book.Wrote(size)
	}
	return err
}

// close closes OUT, where it is open.
func (w *writer) close() error {
	if w.sink == nil {
		return nil
	}
	err := w.sink.close()
	w.sink = nil
	return err
}

// again makes the line of a call from the journal.
func (w *writer) again(ctx context.Context, dst []byte, call int) ([]byte, error) {
	a, err := w.book.Answer(ctx, w.standing.At(call))
	if err != nil {
		return nil, err
	}
	if err := w.x.read(call/w.x.repeats, &w.rec); err != nil {
		return nil, err
	}
	return w.lines.lineOf(dst, &a, &w.rec, w.retried[call])
}

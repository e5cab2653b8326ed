package job

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"hash/maphash"
	"io"
	"math"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// Weigher reads the facts out of a body: *flotilla.Fleet is one.
type Weigher interface {
	Weigh(body []byte) (flotilla.Facts, error)
}

// index is what one pass over all inputs found: every row read, checked, made
// into a body and weighed. Records are numbered over all inputs, and each makes
// as many rows of the index as its craft asks: row i is ask i%A of record i/A.
// With repeats, call c is repeat c%K of row c/K.
type index struct {
	inputs  []*input
	firsts  []int // number of each input's first record, from 0
	rows    entries
	kinds   []kind
	repeats int
	asks    int // rows of a record

	kindRows []int // rows of each kind
	prefixes *prefixes
	likeness *likeness

	digest [32]byte // of the contents of all inputs, in order

	seed     maphash.Seed
	ids      []uint64    // hashes of ids by record
	byID     []uint32    // records in the order of ids
	byBody   []uint32    // rows in the order of bodies, with --dedupe
	equal    int         // rows whose body an earlier row has
	rejected []*RowError // records set aside, in order
	columns  *columns    // nil: not asked for
	build    *builder
	weigh    Weigher
	prices   *price.Table
	tokens   int64          // estimated input tokens of all calls
	worst    flotilla.Money // of all calls
}

// n is how many calls the job has, set aside ones not counted.
func (x *index) n() int { return (x.rows.n - len(x.rejected)*x.asks) * x.repeats }

// calls is how many numbers calls have: n and those of rows set aside.
func (x *index) calls() int { return x.rows.n * x.repeats }

func (x *index) row(call int) *entry { return x.rows.at(call / x.repeats) }

// ask is which of its record's requests a call is.
func (x *index) ask(call int) int { return call / x.repeats % x.asks }

// records is how many records there are, those set aside included.
func (x *index) records() int { return x.rows.n / x.asks }

// nth is the how-many-th equal body a call is.
func (x *index) nth(call int) int { return int(x.row(call).nth)*x.repeats + call%x.repeats }

func (x *index) close() error {
	var errs []error
	for _, in := range x.inputs {
		errs = append(errs, in.close())
	}
	return errors.Join(errs...)
}

// scanned is what one goroutine made of a row.
type scanned struct {
	off   int64
	len   int
	sum   uint32
	id    uint64
	asked []ask // one for each request
	err   *RowError
}

// ask is one request of a row.
type ask struct {
	facts flotilla.Facts
	marks []mark
	told  bool
}

// scan is the pass over the inputs.
type scan struct {
	x       *index
	check   checker
	skipBad bool
	out     int // expected output tokens of every call; 0: to be learned
	kinds   map[kind]uint16
	sum     hash.Hash
}

// newScan prepares a pass; columns are gathered where a table is to be written.
func newScan(build *builder, inputs []*input, weigh Weigher, check checker) *scan {
	x := &index{inputs: inputs, repeats: build.shape.repeats(), asks: build.asks(), build: build, weigh: weigh, prices: check.prices, seed: maphash.MakeSeed()}
	x.prefixes, x.likeness = newPrefixes(), newLikeness()
	return &scan{x: x, check: check, kinds: map[kind]uint16{}, sum: sha256.New()}
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// run reads every input, in order. Blocks of lines are worked on at once and
// taken in in their order, so that the index and the first fault are the same
// however many processors there are.
func (s *scan) run(ctx context.Context) error {
	for i, in := range s.x.inputs {
		s.x.firsts = append(s.x.firsts, s.x.records())
		if i > math.MaxUint16-1 {
			return fmt.Errorf("%d inputs are more than can be told apart", len(s.x.inputs))
		}
		if err := s.input(ctx, i, in); err != nil {
			return err
		}
	}
	s.sum.Sum(s.x.digest[:0])
	if err := s.x.build.checkRows(s.x.records() - len(s.x.rejected)); err != nil {
		return err
	}
	return s.order()
}

// task is a block on its way through a worker.
type task struct {
	block *block
	done  chan []scanned
}

func (s *scan) input(ctx context.Context, i int, in *input) error {
	g, ctx := errgroup.WithContext(ctx)
	workers := runtime.GOMAXPROCS(0)
	todo, order := make(chan *task), make(chan *task, workers)
	g.Go(func() error {
		defer close(todo)
		defer close(order)
		sum := sha256.New()
		err := readBlocks(io.NewSectionReader(in.text, 0, math.MaxInt64), func(b *block) error {
			_, _ = sum.Write(b.text)
			t := &task{b, make(chan []scanned, 1)}
			for _, c := range []chan *task{order, todo} {
				select {
				case c <- t:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
			return nil
		})
		_, _ = s.sum.Write(sum.Sum(nil))
		if err != nil {
			return fmt.Errorf("read %s: %w", in.name, bare(err))
		}
		return nil
	})
	first := s.x.records()
	for range workers {
		g.Go(func() error {
			w := s.worker(in, first)
			for t := range todo {
				t.done <- w.block(t.block)
			}
			w.cols.done()
			s.x.likeness.merge(w.like)
			return nil
		})
	}
	g.Go(func() error {
		for t := range order {
			select {
			case rows := <-t.done:
				if err := s.take(i, rows); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return g.Wait()
}

// worker makes rows of blocks, one at a time.
type worker struct {
	s     *scan
	in    *input
	first int // rows in the inputs before
	rec   record
	body  []byte
	cols  *columnScan
	like  *likeness
}

func (s *scan) worker(in *input, first int) *worker {
	return &worker{s: s, in: in, first: first, cols: s.x.columns.scan(), like: newLikeness()}
}

func (w *worker) block(b *block) []scanned {
	var out []scanned
	row := b.row
	if b.long > 0 {
		err := fmt.Errorf("the line has %d bytes; a row has at most %d", b.long, maxLine)
		return []scanned{{off: b.off, len: len(b.text), err: w.fault(b.text, row+1, b.line, 0, err)}}
	}
	b.lines(func(off int64, line int, text []byte) {
		row++
		r := scanned{off: off, len: len(text), sum: crc32.Checksum(text, castagnoli)}
		r.err = w.row(&r, text, row, line)
		out = append(out, r)
	})
	return out
}

func (w *worker) fault(text []byte, row, line, column int, err error) *RowError {
	e := &RowError{Input: w.in.name, Row: row, Line: line, Column: column, Record: w.first + row, Table: w.in.table(), Err: err, raw: string(text)}
	if e.Table {
		e.Line = 0 // of the spooled copy
	}
	var missing *FieldError
	if errors.As(err, &missing) {
		missing.column = e.Table
	}
	return e
}

func (w *worker) row(r *scanned, text []byte, row, line int) *RowError {
	if text[0] == faultMark && w.in.table() {
		f := readFault(text)
		e := w.fault(nil, row, 0, f.Column, f.Err)
		e.Line, e.raw = f.Line, f.raw
		return e
	}
	if err := wire.Valid(text); err != nil {
		var at *wire.SyntaxError
		if errors.As(err, &at) {
			return w.fault(text, row, line, at.Offset+1, errors.New(at.Fault))
		}
		return w.fault(text, row, line, 0, err)
	}
	w.rec.n, w.rec.sparse = w.first+row, w.in.layout == layoutParquet
	err := w.s.x.build.read(&w.rec, string(text))
	if err == nil {
		w.cols.see(&w.rec)
		err = w.request(r)
	}
	if err != nil {
		return w.fault(text, row, line, 0, err)
	}
	return nil
}

// request makes and weighs the row's bodies.
func (w *worker) request(r *scanned) error {
	id, err := w.s.x.build.id(&w.rec)
	if err != nil {
		return err
	}
	r.id = maphash.String(w.s.x.seed, id)
	r.asked = make([]ask, w.s.x.asks)
	for ask := range r.asked {
		if err := w.ask(&r.asked[ask], ask); err != nil {
			return err
		}
	}
	return nil
}

// ask makes one of the row's requests.
func (w *worker) ask(a *ask, n int) (err error) {
	if told := w.s.x.build.told(&w.rec, n); told != nil {
		a.told, a.facts = true, w.s.toldFacts(told, &w.rec, n)
		return nil
	}
	if w.body, err = w.s.x.build.body(w.body[:0], &w.rec, n); err != nil {
		return err
	}
	f, err := w.s.check.check(w.body)
	if err != nil {
		return err
	}
	if a.facts, err = w.s.x.weigh.Weigh(w.body); err != nil {
		return err
	}
	a.facts.Size = len(w.body)
	if f.Cache5m || f.Cache1h {
		a.marks = marksOf(w.s.x.seed, w.body, a.facts.Model, a.facts.In)
	} else {
		w.like.see(alike{a.facts.Model, a.facts.Shape}, w.body, a.facts.In)
	}
	return nil
}

// take adds a block's rows to the index.
func (s *scan) take(in int, rows []scanned) error {
	for i := range rows {
		r := &rows[i]
		if r.err != nil {
			if !s.skipBad {
				return r.err
			}
			s.x.rejected = append(s.x.rejected, r.err)
		}
		if s.x.rows.n > math.MaxUint32-s.x.asks {
			return errors.New("more than 4,294,967,295 rows")
		}
		for ask := range s.x.asks {
			e := entry{off: r.off, len: uint32(r.len), sum: r.sum, input: uint16(in), kind: noKind}
			if r.err == nil {
				if err := s.fill(&e, &r.asked[ask]); err != nil {
					return err
				}
			}
			s.x.rows.add(e)
		}
		s.x.ids = append(s.x.ids, r.id)
	}
	return nil
}

// affinity takes in the marks of a request.
func (s *scan) affinity(r *ask) uint32 {
	if len(r.marks) == 0 {
		return 0
	}
	m, _ := s.check.prices.Lookup(r.facts.Model)
	return s.x.prefixes.take(r.facts.Model, r.marks, float64(m.MinCacheable))
}

func (s *scan) fill(e *entry, a *ask) error {
	f := &a.facts
	k := kind{f.Model, f.Pool, f.Family, f.Shape, f.Stream, f.Alone, f.Out, s.affinity(a), f.Metered, a.told}
	if s.out > 0 && !a.told {
		k.out = s.out
	}
	at, ok := s.kinds[k]
	if !ok {
		if len(s.kinds) == int(noKind) {
			return errors.New("the rows have more than 65,534 kinds of body")
		}
		at = uint16(len(s.kinds))
		s.kinds[k] = at
		s.x.kinds, s.x.kindRows = append(s.x.kinds, k), append(s.x.kindRows, 0)
	}
	e.kind, e.key, e.worst = at, f.Hash, f.Worst
	e.body = first8(f.Body)
	e.in, e.maxTokens, e.size = uint32(f.In), uint32(f.MaxTokens), uint32(f.Size)
	s.x.kindRows[at]++
	s.x.tokens += int64(f.In) * int64(s.x.repeats)
	s.x.worst += f.Worst * flotilla.Money(s.x.repeats)
	return nil
}

func first8(h [16]byte) (n uint64) {
	for _, b := range h[:8] {
		n = n<<8 | uint64(b)
	}
	return n
}

// facts are what the scheduler is told of a row.
func (x *index) facts(e *entry) flotilla.Facts {
	k := &x.kinds[e.kind]
	return flotilla.Facts{
		Model: k.model, Pool: k.pool, Family: k.family, Shape: k.shape, Stream: k.stream, Out: k.out,
		MaxTokens: int(e.maxTokens), In: int(e.in), Worst: e.worst, Hash: e.key, Size: int(e.size), Alone: k.alone,
		Metered: k.metered,
	}
}

// read reads a row again and makes sure that it is the one that was indexed.
func (x *index) read(row int, r *record) error {
	e := x.rows.at(row)
	text := make([]byte, e.len)
	in := x.inputs[e.input]
	if _, err := in.text.ReadAt(text, e.off); err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read %s again: %w", in.name, bare(err))
	}
	if crc32.Checksum(text, castagnoli) != e.sum {
		return WithHint(fmt.Errorf("%s changed while the job ran (row %d)", in.name, row/x.asks-x.firsts[e.input]+1),
			"what is done is kept; the same command begins a job over the new contents")
	}
	r.n, r.sparse = row/x.asks+1, in.layout == layoutParquet
	return x.build.read(r, string(text))
}

// id is the id of a call, read from its row. A craft's calls have the row's own.
func (x *index) id(call int, r *record) (string, error) {
	id, err := x.build.id(r)
	if x.build.craft != nil {
		return id, err
	}
	return x.build.shape.repeatID(id, call%x.repeats), err
}

// sortRecords lists the records that are not set aside by what less says.
func (x *index) sortRecords(less func(a, b uint32) int) []uint32 {
	records := make([]uint32, 0, x.records())
	for i := range x.records() {
		if x.rows.at(i*x.asks).kind != noKind {
			records = append(records, uint32(i))
		}
	}
	slices.SortFunc(records, less)
	return records
}

// sortRows lists the rows that are not set aside by what less says, then by number.
func (x *index) sortRows(less func(a, b uint32) int) []uint32 {
	rows := make([]uint32, 0, x.rows.n)
	for i := range x.rows.n {
		if x.rows.at(i).kind != noKind {
			rows = append(rows, uint32(i))
		}
	}
	slices.SortFunc(rows, less)
	return rows
}

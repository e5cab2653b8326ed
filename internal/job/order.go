package job

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"slices"

	"github.com/flotilla-llm/flotilla"
)

// order finds doubled ids and equal bodies by sorting the rows: four bytes a
// row, and the same result every time, where a map of ids would take fifty.
func (s *scan) order() error {
	x := s.x
	x.byID = x.sortRecords(func(a, b uint32) int {
		return cmp.Or(cmp.Compare(x.ids[a], x.ids[b]), cmp.Compare(a, b))
	})
	if err := s.refuseDoubles(); err != nil {
		return err
	}
	x.countEqual()
	return nil
}

// refuseDoubles finds ids that two rows have (facts/peer-faults.md 16), the
// first doubled one in the order of the input.
func (s *scan) refuseDoubles() error {
	x := s.x
	var doubles [][2]uint32 // the first of a row's name, and the row
	for i := 0; i < len(x.byID); {
		end := i + 1
		for end < len(x.byID) && x.ids[x.byID[end]] == x.ids[x.byID[i]] {
			end++
		}
		if end-i > 1 {
			pairs, err := s.doubled(x.byID[i:end])
			if err != nil {
				return err
			}
			doubles = append(doubles, pairs...)
		}
		i = end
	}
	slices.SortFunc(doubles, func(a, b [2]uint32) int { return cmp.Compare(a[1], b[1]) })
	for _, d := range doubles {
		err, e := s.doubleError(int(d[0]), int(d[1]))
		if e != nil {
			return e
		}
		if !s.skipBad {
			return err
		}
		x.rejected = append(x.rejected, err)
		x.setAside(int(d[1]))
	}
	if len(doubles) > 0 {
		x.byID = slices.DeleteFunc(x.byID, func(r uint32) bool { return x.rows.at(int(r)*x.asks).kind == noKind })
		slices.SortFunc(x.rejected, func(a, b *RowError) int { return cmp.Compare(a.Record, b.Record) })
	}
	return nil
}

// doubled compares the ids themselves of rows whose hashes are equal.
func (s *scan) doubled(rows []uint32) (pairs [][2]uint32, err error) {
	first := map[string]uint32{}
	var r record
	for _, row := range rows {
		if err := s.x.read(int(row)*s.x.asks, &r); err != nil {
			return nil, err
		}
		id, err := s.x.build.id(&r)
		if err != nil {
			return nil, err
		}
		if before, ok := first[id]; ok {
			pairs = append(pairs, [2]uint32{before, row})
		} else {
			first[id] = row
		}
	}
	return pairs, nil
}

func (s *scan) doubleError(first, second int) (*RowError, error) {
	var r record
	if err := s.x.read(second*s.x.asks, &r); err != nil {
		return nil, err
	}
	id, err := s.x.build.id(&r)
	if err != nil {
		return nil, err
	}
	a, err := s.x.place(first)
	if err != nil {
		return nil, err
	}
	b, err := s.x.place(second)
	if err != nil {
		return nil, err
	}
	b.Err = WithHint(fmt.Errorf("id %q is the id of %s too", id, a.place()),
		"--id-field names the fields that make an id, --id-field - numbers the rows")
	b.raw = r.raw
	return b, nil
}

// setAside takes a record out of the job after it was taken in.
func (x *index) setAside(record int) {
	for ask := range x.asks {
		e := x.rows.at(record*x.asks + ask)
		x.tokens -= int64(e.in) * int64(x.repeats)
		x.worst -= e.worst * flotilla.Money(x.repeats)
		x.kindRows[e.kind]--
		e.kind = noKind
	}
}

// lineAt counts the line breaks before off.
func lineAt(f io.ReaderAt, off int64) (line int, err error) {
	r := bufio.NewReaderSize(io.NewSectionReader(f, 0, off), 1<<18)
	for line = 1; ; {
		_, err := r.ReadSlice('\n')
		switch {
		case err == nil:
			line++
		case errors.Is(err, io.EOF):
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return line, err
		}
	}
}

// place finds where a record stands in its input, for an error. Lines are counted
// anew, which only errors can afford.
func (x *index) place(row int) (*RowError, error) {
	e := x.rows.at(row * x.asks)
	in := x.inputs[e.input]
	p := &RowError{Input: in.name, Row: row - x.firsts[e.input] + 1, Record: row + 1, Table: in.table()}
	if p.Table {
		return p, nil
	}
	line, err := lineAt(in.text, e.off)
	p.Line = line
	return p, err
}

// countEqual numbers the rows of each body (repeated sampling is common, so
// equal bodies are calls of their own).
func (x *index) countEqual() {
	same := x.sortRows(func(a, b uint32) int {
		ka, kb := &x.rows.at(int(a)).key, &x.rows.at(int(b)).key
		return cmp.Or(bytes.Compare(ka[:], kb[:]), cmp.Compare(a, b))
	})
	for i := 1; i < len(same); i++ {
		before, e := x.rows.at(int(same[i-1])), x.rows.at(int(same[i]))
		if before.key == e.key {
			e.nth = before.nth + 1
			x.equal++
		}
	}
	if x.build.shape.Dedupe {
		x.byBody = same
	}
}

// find is the record of an id, without its repeat; ok is false where none has it.
func (x *index) find(id string) (row int, ok bool) {
	h := maphash.String(x.seed, id)
	i, ok := slices.BinarySearchFunc(x.byID, h, func(r uint32, h uint64) int { return cmp.Compare(x.ids[r], h) })
	if !ok {
		return 0, false
	}
	return int(x.byID[i]), true
}

// twins are the rows with the same body as row, in order, itself included. It
// is known with --dedupe alone.
func (x *index) twins(row int) []uint32 {
	key := x.rows.at(row).key
	at := func(r uint32) []byte { return x.rows.at(int(r)).key[:] }
	i, _ := slices.BinarySearchFunc(x.byBody, key[:], func(r uint32, k []byte) int { return bytes.Compare(at(r), k) })
	end := i
	for end < len(x.byBody) && x.rows.at(int(x.byBody[end])).key == key {
		end++
	}
	return x.byBody[i:end]
}

// follows says that with --dedupe a call gets the answer of an equal one.
func (x *index) follows(call int) bool {
	return x.build.shape.Dedupe && x.row(call).nth > 0
}

// leader is the first call with the same body and repeat.
func (x *index) leader(call int) int {
	return int(x.twins(call / x.repeats)[0])*x.repeats + call%x.repeats
}

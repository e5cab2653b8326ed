package job

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// reuse are the answers of --reuse files that calls can have.
type reuse struct {
	r     *Run
	rows  []uint32 // in the order of their bodies
	wants func(call int) bool
	texts []*os.File
	done  []func() error
	found map[int]reusedLine // by call
}

// reusedLine is where an answer stands.
type reusedLine struct {
	text int // which file
	off  int64
	len  int
}

// reusable matches the answers of the --reuse files to calls that want one, by
// the hash of the body and in the order of the file: never by id or position
// (facts/peer-faults.md 20, 29). Answers of an emulator are used for that
// emulator alone.
func (r *Run) reusable(wants func(call int) bool) (*reuse, error) {
	u := &reuse{r: r, wants: wants, found: map[int]reusedLine{}}
	if len(r.cfg.Reuse) == 0 {
		return u, nil
	}
	u.rows = r.x.sortRows(func(a, b uint32) int {
		return cmp.Or(cmp.Compare(r.x.rows.at(int(a)).body, r.x.rows.at(int(b)).body), cmp.Compare(a, b))
	})
	for _, name := range r.cfg.Reuse {
		if err := u.read(name); err != nil {
			return nil, errors.Join(fmt.Errorf("reuse %s: %w", name, bare(err)), u.close())
		}
	}
	u.rows = nil
	return u, nil
}

func (u *reuse) close() error {
	var errs []error
	for _, done := range u.done {
		errs = append(errs, done())
	}
	return errors.Join(errs...)
}

func (u *reuse) read(name string) error {
	if _, err := os.Stat(name); err != nil {
		return err
	}
	text, done, err := (&Output{Path: name}).plainText()
	if err != nil {
		return err
	}
	u.texts, u.done = append(u.texts, text), append(u.done, done)
	usable := 0
	err = readBlocks(io.NewSectionReader(text, 0, 1<<62), func(b *block) error {
		b.lines(func(off int64, _ int, line []byte) {
			f, ok := u.usable(line)
			if !ok {
				return
			}
			usable++
			if call := u.taker(f.body); call >= 0 {
				u.found[call] = reusedLine{len(u.texts) - 1, off, len(line)}
			}
		})
		return nil
	})
	if err == nil && usable == 0 {
		u.r.cfg.Say(fmt.Sprintf("--reuse %s: no line of it is an answer that may be used here", name))
	}
	return err
}

// usable says that a line is a whole answer of this provider (facts/peer-faults.md 19).
func (u *reuse) usable(line []byte) (found, bool) {
	f, ok := readForeign(line)
	if !ok || f.outcome != Succeeded.String() || gjson.GetBytes(line, "flotilla.emulated").Str != u.r.cfg.Emulated {
		return f, false
	}
	_, err := wire.ReadMessage([]byte(gjson.GetBytes(line, "result.message").Raw))
	return f, err == nil
}

// taker is the next call with that body that wants an answer; -1: none does.
func (u *reuse) taker(hex16 string) int {
	want, err := strconv.ParseUint(hex16, 16, 64)
	if err != nil {
		return -1
	}
	x := u.r.x
	i, _ := slices.BinarySearchFunc(u.rows, want, func(row uint32, h uint64) int { return cmp.Compare(x.rows.at(int(row)).body, h) })
	for ; i < len(u.rows) && x.rows.at(int(u.rows[i])).body == want; i++ {
		for k := range x.repeats {
			call := int(u.rows[i])*x.repeats + k
			if _, taken := u.found[call]; !taken && u.wants(call) {
				return call
			}
		}
	}
	return -1
}

// record reads a line again as an answer that cost nothing.
func (u *reuse) record(call int) (flotilla.Record, error) {
	at := u.found[call]
	line := make([]byte, at.len)
	if _, err := u.texts[at.text].ReadAt(line, at.off); err != nil {
		return flotilla.Record{}, fmt.Errorf("reuse %s: %w", u.texts[at.text].Name(), bare(err))
	}
	v := gjson.ParseBytes(line)
	a := Answer{
		Row: call, Outcome: Succeeded, Body: []byte(v.Get("result.message").Raw), When: u.r.cfg.Now(),
		Org: v.Get("flotilla.org").Str, Tier: v.Get("flotilla.tier").Str, Model: v.Get("flotilla.model").Str,
		Latency:    time.Duration(v.Get("flotilla.latency_ms").Int()) * time.Millisecond,
		StopReason: v.Get("result.message.stop_reason").Str, Emulated: u.r.cfg.Emulated, Hash: u.r.x.row(call).key,
	}
	return u.r.x.record(&a), nil
}

// reuseBatch is how many records are made durable at a time.
const reuseBatch = 500

// settle makes the answers of calls the journal's.
func (u *reuse) settle(calls []int) error {
	var records []flotilla.Record
	for i, call := range calls {
		rec, err := u.record(call)
		if err != nil {
			return err
		}
		if records = append(records, rec); len(records) == reuseBatch || i == len(calls)-1 {
			if err := u.r.append(records); err != nil {
				return err
			}
			records = records[:0]
		}
	}
	return nil
}

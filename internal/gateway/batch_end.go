package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/journal"
)

// end writes the results of a batch whose rows have settled, and ends it. It may
// be repeated: what it reads stays until the batch has ended.
func (run *batchRun) end() error {
	b := run.b
	rec, ok, err := b.journal.ClientBatch(b.ctx, run.id) // it may have been canceled since
	if err == nil && !ok {
		err = journal.ErrNoBatch
	}
	if err != nil {
		return err
	}
	counts, err := b.files.gather(run.id, rec.N, run.restOf(&rec))
	if err != nil {
		return fmt.Errorf("results: %w", err)
	}
	b.step(stepWritten)
	_, err = b.change(run.id, func(rec *journal.ClientBatch) bool {
		rec.Ended, rec.Counts = b.now(), counts
		return true
	})
	if err != nil {
		return err
	}
	b.step(stepEnded)
	for _, end := range []string{endOut, endRejected, endKnown} {
		_ = os.Remove(b.files.name(run.id, end)) // the sweep takes what stays
	}
	return nil
}

// restOf is what the results say of rows that were given up: why they were, the
// journal's job does not know.
func (run *batchRun) restOf(rec *journal.ClientBatch) string {
	switch {
	case !rec.CancelInitiated.IsZero():
		return `{"type":"canceled"}`
	case run.expired():
		return `{"type":"expired"}`
	}
	return errored(&rowFault{kindBilling, "the budget that this batch draws on is used up; the request was not sent"})
}

// gathering is results on their way to one file.
type gathering struct {
	w      *bufio.Writer
	costs  *bufio.Writer
	seen   map[string]struct{}
	counts journal.BatchCounts
	rest   string         // the result of rows that were given up, or have none
	row    int            // of those of the job, from 1
	wrong  map[int]string // why the job set rows aside
}

// gather makes the results of a batch of n rows out of its files, whole and
// durable.
func (d spoolDir) gather(id string, n int, rest string) (counts journal.BatchCounts, err error) {
	f, err := os.OpenFile(d.name(id, endResults+partial), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	costs, err := os.OpenFile(d.name(id, endCosts), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return counts, err
	}
	defer func() { err = errors.Join(err, costs.Close()) }()
	g := &gathering{w: bufio.NewWriterSize(f, 1<<16), costs: bufio.NewWriter(costs), seen: make(map[string]struct{}, n), rest: rest}
	for _, from := range []struct {
		end  string
		take func(line []byte) error
	}{{endKnown, g.known}, {endOut, g.settled}, {endRejected, g.refused}, {endRows, g.left}} {
		if err := eachLine(d.name(id, from.end), from.take); err != nil {
			return counts, err
		}
	}
	if len(g.seen) != n {
		return counts, fmt.Errorf("%d rows have results, of %d", len(g.seen), n)
	}
	if err := errors.Join(g.costs.Flush(), costs.Sync(), g.w.Flush(), f.Sync(), os.Rename(f.Name(), d.name(id, endResults)), d.sync()); err != nil {
		return counts, err
	}
	return g.counts, nil
}

// eachLine gives out the lines of a file; one that is missing has none. A last
// line that is torn is no line.
func eachLine(name string, take func(line []byte) error) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer f.Close()
	for lines := wire.NewLineReader(f); ; {
		line, err := lines.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case line.Torn:
			return nil
		}
		if err := take(line.Bytes); err != nil {
			return err
		}
	}
}

// first notes an id, and says whether it has no result yet.
func (g *gathering) first(id string) bool {
	if _, twice := g.seen[id]; twice {
		return false
	}
	g.seen[strings.Clone(id)] = struct{}{}
	return true
}

// known takes a line that was written at the create.
func (g *gathering) known(line []byte) error {
	if id := gjson.GetBytes(line, "custom_id").Str; !g.first(id) {
		return nil
	}
	if gjson.GetBytes(line, "result.type").Str == wire.RowSucceeded {
		g.counts.Succeeded++
	} else {
		g.counts.Errored++
	}
	_, _ = g.w.Write(line)
	return g.w.WriteByte('\n') // a writer keeps its first error
}

// settled takes a line of the job's output: a result as the API has it, and what
// flotilla knows, of which the cost is kept beside it.
func (g *gathering) settled(line []byte) error {
	v := gjson.ParseBytes(line)
	id, result := v.Get("custom_id").Str, v.Get("result")
	if !g.first(id) {
		return fmt.Errorf("row %q has two results", id)
	}
	if cost := v.Get("flotilla.cost_usd").Raw; cost != "" { // a writer keeps its first error
		_, _ = g.costs.WriteString(`{"custom_id":"` + id + `","cost_usd":` + cost + "}\n")
	}
	switch result.Get("type").Str {
	case wire.RowSucceeded:
		g.counts.Succeeded++
		return g.write(id, result.Raw)
	case wire.RowErrored:
		g.counts.Errored++
		return g.write(id, inWordsOfAPI(result))
	case wire.RowExpired:
		g.counts.Expired++
		return g.write(id, result.Raw)
	}
	return g.giveUp(id)
}

// refused takes a line about a row that the job could not send.
func (g *gathering) refused(line []byte) error {
	if g.wrong == nil {
		g.wrong = map[int]string{}
	}
	g.wrong[int(gjson.GetBytes(line, "row").Int())] = gjson.GetBytes(line, "error").Str
	return nil
}

// left takes a request: where it has no result it could not be sent, or was
// given up.
func (g *gathering) left(line []byte) error {
	g.row++
	id := gjson.GetBytes(line, "custom_id").Str
	if !g.first(id) {
		return nil
	}
	if why, ok := g.wrong[g.row]; ok {
		g.counts.Errored++
		return g.write(id, errored(&rowFault{kindInvalid, why}))
	}
	return g.giveUp(id)
}

func (g *gathering) giveUp(id string) error {
	switch gjson.Get(g.rest, "type").Str {
	case wire.RowCanceled:
		g.counts.Canceled++
	case wire.RowExpired:
		g.counts.Expired++
	default:
		g.counts.Errored++
	}
	return g.write(id, g.rest)
}

func (g *gathering) write(id, result string) error {
	_, err := g.w.WriteString(resultLine(id, result))
	return err
}

// connectionError is the type that internal/job gives a row without an answer
// (interface.md, "Output"); the API knows none such.
const connectionError = "flotilla_connection_error"

func inWordsOfAPI(result gjson.Result) string {
	if result.Get("error.error.type").Str != connectionError {
		return result.Raw
	}
	message := result.Get("error.error.message").Str
	return errored(&rowFault{kindAPI, message})
}

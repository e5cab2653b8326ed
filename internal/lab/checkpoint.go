package lab

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// partial is the file in which an experiment writes down what it has done, as
// it does it, so that a killed one goes on: one JSON line for each intent, each
// answer, each finished step.
type partial struct {
	file *os.File
	past
}

// past is what the lines of earlier invocations say.
type past struct {
	head    head
	steps   map[string]json.RawMessage
	kept    map[string]json.RawMessage
	records []Record
	intents map[int64]price.Nanos // without an answer
	batches map[string]madeBatch  // by the experiment's key
	ids     int64                 // last intent
	at      time.Duration         // clock at the last line
}

// head says what a partial file belongs to.
type head struct {
	Experiment string    `json:"experiment"`
	Window     string    `json:"window"`
	Seed       uint64    `json:"seed"`
	BaseURL    string    `json:"base_url"`
	Emulated   string    `json:"emulated,omitempty"`
	Started    time.Time `json:"started"`
}

// madeBatch is a batch that was created.
type madeBatch struct {
	Key    string      `json:"key"`
	Org    string      `json:"org"`
	ID     string      `json:"id"`
	Rows   int         `json:"rows"`
	Model  string      `json:"model"`
	Intent int64       `json:"intent"`
	Worst  price.Nanos `json:"worst_usd"`
	Made   time.Time   `json:"made"` // created_at, the server's clock
}

// line is one line of the file; one field is set.
type line struct {
	Head   *head           `json:"head,omitempty"`
	Intent int64           `json:"i,omitempty"` // with Worst, or with Record
	Worst  price.Nanos     `json:"w,omitempty"`
	Record *Record         `json:"r,omitempty"`
	Batch  *madeBatch      `json:"b,omitempty"`
	Step   string          `json:"step,omitempty"`
	Keep   string          `json:"keep,omitempty"`
	Value  json.RawMessage `json:"v,omitempty"`
	At     time.Duration   `json:"at,omitempty"`
}

// openPartial opens or makes the file. One that belongs to something else (a
// different seed, another provider) is moved aside; moved says to where.
func openPartial(path string, h head) (p *partial, moved string, err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, "", fmt.Errorf("making the directory of results: %w", err)
	}
	f, err := lockPartial(path, h.Experiment)
	if err != nil {
		return nil, "", err
	}
	old, whole, err := readPartial(path)
	if err != nil {
		return nil, "", errors.Join(err, f.Close())
	}
	if old.head != (head{}) && !old.head.same(h) {
		if f, moved, err = moveAside(f, path, h.Experiment); err != nil {
			return nil, "", err
		}
		old, whole = newPast(), 0
	}
	p = &partial{file: f, past: old}
	if err := p.rewind(whole); err != nil {
		return nil, "", errors.Join(err, f.Close())
	}
	if p.head == (head{}) {
		p.head = h
		err = p.write(line{Head: &h})
	}
	return p, moved, err
}

// lockPartial opens the file for one invocation alone: two would write over each
// other, and pay for the same calls twice.
func lockPartial(path, experiment string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the partial results: %w", err)
	}
	if heldElsewhere(f) {
		return nil, errors.Join(&RefusedError{
			Experiment: experiment, Why: "it is under way already, by another process: " + path,
			Hint: "wait for it, or give this one another --window or --results",
		}, f.Close())
	}
	return f, nil
}

// moveAside keeps a file that belongs to something else under a name that is not
// taken, since it knows of batches and of money, and begins a new one.
func moveAside(f *os.File, path, experiment string) (next *os.File, moved string, err error) {
	moved = path + ".other"
	for n := 2; ; n++ {
		if _, err := os.Lstat(moved); errors.Is(err, fs.ErrNotExist) {
			break
		}
		moved = fmt.Sprintf("%s.other%d", path, n)
	}
	if err := errors.Join(os.Rename(path, moved), f.Close()); err != nil {
		return nil, "", fmt.Errorf("moving %s aside: %w", path, err)
	}
	next, err = lockPartial(path, experiment)
	return next, moved, err
}

// same leaves out when the runs began.
func (h head) same(o head) bool {
	h.Started, o.Started = time.Time{}, time.Time{}
	return h == o
}

// rewind cuts a torn last line off.
func (p *partial) rewind(whole int64) error {
	if err := p.file.Truncate(whole); err != nil {
		return fmt.Errorf("cutting a torn line: %w", err)
	}
	_, err := p.file.Seek(whole, 0)
	return err
}

func newPast() past {
	return past{
		steps: map[string]json.RawMessage{}, kept: map[string]json.RawMessage{},
		intents: map[int64]price.Nanos{}, batches: map[string]madeBatch{},
	}
}

// readPartial reads what there is; whole is where its last whole line ends.
func readPartial(path string) (p past, whole int64, err error) {
	p = newPast()
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return p, 0, nil
	}
	if err != nil {
		return p, 0, fmt.Errorf("reading partial results: %w", err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<16)
	for {
		data, err := r.ReadBytes('\n')
		if err != nil { // a last line without its end was cut by a kill
			return p, whole, nil
		}
		var l line
		if err := json.Unmarshal(data, &l); err != nil {
			return p, 0, &RefusedError{
				Experiment: p.head.Experiment, Why: fmt.Sprintf("what it had done cannot be read: %s: byte %d: %s", path, whole, err),
				Hint: "move that file away to begin anew: calls and batches that it knows of are then not counted",
			}
		}
		if l.Record != nil {
			p.records = append(p.records, *l.Record)
		}
		p.take(&l)
		whole += int64(len(data))
	}
}

func (p *past) take(l *line) {
	switch {
	case l.Head != nil:
		p.head = *l.Head
	case l.Record != nil:
		delete(p.intents, l.Intent)
	case l.Batch != nil:
		p.batches[l.Batch.Key] = *l.Batch
	case l.Step != "":
		p.steps[l.Step] = l.Value
	case l.Keep != "":
		p.kept[l.Keep] = l.Value
	case l.Intent != 0:
		p.intents[l.Intent] = l.Worst
		p.ids = max(p.ids, l.Intent)
	}
	p.at = max(p.at, l.At)
}

// write appends a line. It is not synced: what a crash of the machine takes is
// paid for again, what a kill leaves is not.
func (p *partial) write(l line) error {
	data, err := json.Marshal(l)
	if err == nil {
		_, err = p.file.Write(append(data, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing partial results: %w", err)
	}
	p.take(&l)
	return nil
}

func (p *partial) remove() error {
	return errors.Join(p.file.Close(), os.Remove(p.file.Name()))
}

package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/price"
)

// Bench carries out an experiment's calls, under the etiquette caps and the
// spend cap, until the abort rule stops it. It keeps every record, and writes
// down what was done so that a killed experiment goes on.
type Bench struct {
	env   *Env
	clock *Clock
	links map[string]*link

	mu      sync.Mutex
	step    string
	purse   purse
	guard   guard
	partial *partial
	records []Record
	newest  map[string]*Record // by org and pool: of the newest send that had headers
	slots   map[string]chan struct{}
	broken  error // writing the partial file failed: nothing more is sent
}

// newBench opens the bench of an experiment.
func newBench(env *Env, experiment string) (*Bench, error) {
	started := env.Start
	if started.IsZero() {
		started = time.Now()
	}
	path := filepath.Join(env.dir(), experiment+"-"+env.window()+".partial.jsonl")
	p, moved, err := openPartial(path, head{
		Experiment: experiment, Window: env.window(), Seed: env.Seed, BaseURL: env.BaseURL, Emulated: env.Emulated, Started: started.UTC(),
	})
	if err != nil {
		return nil, err
	}
	if moved != "" {
		env.log("partial results of another run were moved to " + moved)
	}
	b := &Bench{
		env: env, clock: newClock(started, p.at, env.speed()), links: map[string]*link{}, partial: p, records: p.records,
		newest: map[string]*Record{}, slots: map[string]chan struct{}{}, purse: purse{cap: env.MaxSpend},
		guard: guard{rule: Polite, soft: env.soft(), refused: map[string][]time.Duration{}, low: map[string]*lowLevel{}, capacity: map[string]float64{}},
	}
	for i := range env.Orgs {
		b.links[env.Orgs[i].Name] = env.link(&env.Orgs[i])
	}
	b.recall()
	return b, nil
}

// interrupted marks records of a step that a kill or a stop broke off: they are
// paid for and belong to nothing.
const interrupted = "interrupted: "

// recall counts the money of earlier invocations.
func (b *Bench) recall() {
	for i := range b.records {
		if step := b.records[i].Step; step != "" && b.partial.steps[step] == nil {
			b.records[i].Step = interrupted + step
		}
		b.purse.spent += b.records[i].Cost
		b.purse.reserved += b.records[i].InDoubt
	}
	for _, worst := range b.partial.intents {
		b.purse.reserved += worst
	}
}

func (b *Bench) close() {
	for _, l := range b.links {
		l.close()
	}
	_ = b.partial.file.Close()
}

// Env is what the experiment is run with.
func (b *Bench) Env() *Env { return b.env }

// Clock is the experiment's time.
func (b *Bench) Clock() *Clock { return b.clock }

// Expect replaces the abort rule from now on, for an experiment that means to
// meet refusals or low levels: it says so to the owners of the keys beforehand
// (facts/control.md E.1).
func (b *Bench) Expect(r Rule) {
	b.mu.Lock()
	b.guard.rule = r
	b.mu.Unlock()
}

// Step does one step of an experiment, once: where an earlier invocation has
// finished it, its value is read back, and nothing is sent. Steps must not
// overlap. What was sent in a step that did not finish is paid for, and left out
// of everything but the bill.
func Step[T any](b *Bench, name string, do func() (T, error)) (T, error) {
	var v T
	if stored, ok := b.partial.steps[name]; ok {
		if err := json.Unmarshal(stored, &v); err != nil {
			return v, fmt.Errorf("step %s of the partial results: %w", name, err)
		}
		return v, nil
	}
	b.enter(name)
	defer b.enter("")
	v, err := do()
	if err != nil {
		return v, err
	}
	data, err := json.Marshal(v)
	if err != nil {
		return v, fmt.Errorf("step %s: %w", name, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return v, b.partial.write(line{Step: name, Value: data, At: b.clock.Now()})
}

func (b *Bench) enter(step string) {
	b.mu.Lock()
	b.step = step
	b.mu.Unlock()
}

// Keep writes a value down under a key, for the rerun of a killed experiment.
func (b *Bench) Keep(key string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("keeping %s: %w", key, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.partial.write(line{Keep: key, Value: data, At: b.clock.Now()})
}

// Kept reads a value back; false: there is none.
func (b *Bench) Kept(key string, v any) (bool, error) {
	b.mu.Lock()
	data, ok := b.partial.kept[key]
	b.mu.Unlock()
	if !ok {
		return false, nil
	}
	return true, json.Unmarshal(data, v)
}

// Newest is the newest record of an org and pool that had limit headers, by the
// time of its send; nil: there is none.
func (b *Bench) Newest(org, pool string) *Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.newest[org+" "+pool]
}

// Spent is what has been billed so far.
func (b *Bench) Spent() price.Nanos {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.purse.spent
}

// Records are those of finished steps and of the step under way, whose names
// are given; none: all.
func (b *Bench) Records(steps ...string) []Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(b.records), func(r Record) bool {
		return len(steps) > 0 && !slices.Contains(steps, r.Step)
	})
}

// finished are the names of the steps that are done.
func (b *Bench) finished() map[string]bool {
	done := map[string]bool{}
	for name := range maps.Keys(b.partial.steps) {
		done[name] = true
	}
	return done
}

// slot waits for a place among the calls of a model's family that an org may
// have in flight.
func (b *Bench) slot(ctx context.Context, org, model string) (release func(), err error) {
	key := org + " " + price.FamilyOf(model)
	b.mu.Lock()
	places := b.slots[key]
	if places == nil {
		places = make(chan struct{}, b.env.Cap(model))
		b.slots[key] = places
	}
	b.mu.Unlock()
	select {
	case places <- struct{}{}:
		return func() { <-places }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

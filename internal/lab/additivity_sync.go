package lab

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// additivitySync spends on one org at a time and reads what the others have left
// at that moment.
type additivitySync struct{}

// AdditivitySync is the experiment "additivity-sync".
func AdditivitySync() Experiment { return additivitySync{} }

func (additivitySync) Name() string { return "additivity-sync" }
func (additivitySync) Question() string {
	return "Does spending on one org leave what the others have left untouched?"
}
func (additivitySync) Speed() float64 { return 10 }

func (additivitySync) Hypothesis(*Env) Hypothesis {
	return Hypothesis{Text: "Orgs have buckets of their own: spending on one takes nothing from another, so their limits add up.", Binding: "none"}
}

// The plan: each round spends on every org once and, as often, on none, in random
// order, so that what colleagues use meanwhile is seen and taken out.
const (
	addRounds = 4
	addCalls  = 6                      // of a spending
	addShare  = 0.01                   // of the input limit that is spent at once
	addLeast  = 30_000                 // tokens of it, at least: remaining is rounded to thousands
	addLook   = 100 * time.Millisecond // from the spending to the second reading
	addPause  = 15 * time.Second       // between: refilled, and below what acceleration may take offence at
	// addTouched and addUntouched are the shares of a spending that another org
	// must or must not show.
	addTouched, addUntouched = 0.5, 0.2
	// addRoom is the share of the limit that must be left where is spent: an org
	// that others keep low is read, and spared.
	addRoom = 0.3
)

// addRule lets levels be low that others keep low: they are not spent on.
var addRule = Rule{FloorFor: -1, Refusals: Polite.Refusals}

func (x additivitySync) prompt(limit float64) int {
	return int(max(addLeast, addShare*limit)) / addCalls
}

func (x additivitySync) Estimate(e *Env) Estimate {
	est := Estimate{Takes: time.Duration(2*addRounds*len(e.Syncing())) * addPause}
	m := e.Cheap()
	for _, o := range e.Syncing() {
		est.add(o.Name, m.ID, addRounds*addCalls, int64(x.prompt(o.about(m.Pool).Input)), 1)
		est.add(o.Name, m.ID, int64(4*addRounds*len(e.Syncing())), int64(probeShape.In), 1)
	}
	if len(e.Syncing()) < 2 {
		est.Refused, est.Hint = "there is one org, and nothing to add up", "set the key of a second org (ANTHROPIC_BATCH_KEY, ANTHROPIC_API_KEY_LOW_PRIO), or name it in flotilla.yaml"
	}
	return est
}

// spending is one, or none (Org empty), and what every org's input level
// fell by from just before to just after it.
type spending struct {
	Org   string             `json:"org,omitempty"`
	Spent float64            `json:"spent"` // input tokens
	Fell  map[string]float64 `json:"fell"`
}

func (x additivitySync) Run(ctx context.Context, b *Bench) (*Result, error) {
	m := b.env.Cheap()
	r := &Result{Config: map[string]any{
		"model": m.ID, "rounds": addRounds, "calls": addCalls, "share": addShare, "least_tokens": addLeast, "probe": probeShape, "pause_s": addPause.Seconds(), "abort_rule": addRule,
	}}
	b.Expect(addRule)
	orgs := b.env.Syncing()
	var spendings []spending
	for round := range addRounds {
		var plan []*Org
		for _, o := range orgs {
			plan = append(plan, o, nil)
		}
		rng := rand.New(rand.NewPCG(b.env.seedFor("additivity", uint64(round)), 1))
		rng.Shuffle(len(plan), func(i, j int) { plan[i], plan[j] = plan[j], plan[i] })
		for i, o := range plan {
			t, err := Step(b, fmt.Sprintf("round %d turn %d", round+1, i+1), func() (spending, error) { return x.turn(ctx, b, orgs, o, m.ID) })
			if err != nil {
				r.fromSpendings(b.env, spendings, m.Pool)
				return r, err
			}
			spendings = append(spendings, t)
		}
	}
	r.fromSpendings(b.env, spendings, m.Pool)
	return r, nil
}

// turn reads all orgs, spends on one, and reads all again.
func (x additivitySync) turn(ctx context.Context, b *Bench, orgs []*Org, on *Org, model string) (spending, error) {
	t := spending{Fell: map[string]float64{}}
	if err := b.clock.Sleep(ctx, addPause); err != nil {
		return t, err
	}
	before, err := readAll(ctx, b, orgs, model)
	if err != nil {
		return t, err
	}
	spent := make(chan error, 1)
	if on != nil && roomy(before[on.Name]) {
		t.Org = on.Name
		shape := Shape{In: x.prompt(x.limit(before[on.Name])), Out: 1, MaxTokens: 1}
		go func() {
			sent, err := b.Open(ctx, Every(1000, addCalls), func(int) Shot { return Shot{Org: on.Name, Model: model, Shape: shape} })
			for i := range sent {
				t.Spent += float64(sent[i].Usage.Input)
			}
			spent <- err
		}()
	} else {
		spent <- nil
	}
	if err := b.clock.Sleep(ctx, addLook); err != nil {
		<-spent
		return t, err
	}
	after, err := readAll(ctx, b, orgs, model)
	if bad := <-spent; err == nil {
		err = bad
	}
	for _, o := range orgs {
		if was, is := before[o.Name], after[o.Name]; was != nil && is != nil {
			t.Fell[o.Name] = float64(was.Remaining - is.Remaining)
		}
	}
	return t, err
}

// roomy says that an org can be spent on without anybody feeling it; where no
// header tells, it is taken to be.
func roomy(l *Level) bool { return l == nil || float64(l.Remaining) >= addRoom*float64(l.Limit) }

func (additivitySync) limit(l *Level) float64 {
	if l == nil {
		return 0
	}
	return float64(l.Limit)
}

// readAll reads the input level of all orgs at once; nil: an answer had none.
func readAll(ctx context.Context, b *Bench, orgs []*Org, model string) (map[string]*Level, error) {
	levels := map[string]*Level{}
	var mu sync.Mutex
	err := together(orgs, func(o *Org) error {
		r, err := b.Insist(ctx, Shot{Org: o.Name, Model: model, Shape: probeShape, Stream: true})
		mu.Lock()
		levels[o.Name] = r.Read.Of(wire.Input)
		mu.Unlock()
		return err
	})
	return levels, err
}

// fromSpendings decides for each pair of orgs. One direction is enough: a bucket
// that two share is felt from either side.
func (r *Result) fromSpendings(e *Env, spendings []spending, pool string) {
	orgs := e.Syncing()
	var p pairs
	for i, a := range orgs {
		for j, o := range orgs {
			m, ok := shareOf(spendings, a.Name, o.Name)
			if ok {
				m.Org, m.At, m.Pool = o.Name, "spending on "+a.Name, pool
				r.Metrics = append(r.Metrics, m)
			}
			if i < j {
				back, ok2 := shareOf(spendings, o.Name, a.Name)
				p.decide(a.Name+" and "+o.Name, feels(m, ok), feels(back, ok2))
			}
		}
	}
	p.say(r)
}

// feeling is what one direction of a pair shows.
type feeling int

const (
	unclear feeling = iota
	untouched
	touched
)

func feels(m Metric, ok bool) feeling {
	switch {
	case ok && m.High < addTouched && m.Value < addUntouched:
		return untouched
	case ok && m.Low > addUntouched && m.Value > addTouched:
		return touched
	}
	return unclear
}

// pairs are the pairs of orgs by what was decided.
type pairs struct{ apart, shared, open []string }

func (p *pairs) decide(name string, there, back feeling) {
	switch {
	case there == touched || back == touched:
		p.shared = append(p.shared, name)
	case there == untouched || back == untouched:
		p.apart = append(p.apart, name)
	default:
		p.open = append(p.open, name)
	}
}

func (p *pairs) say(r *Result) {
	class := "additive"
	switch {
	case len(p.shared) > 0:
		class = "shared"
		r.Verdict, r.Confidence = strings.Join(p.shared, ", ")+" share their limits: they do not add up", 0.95
	case len(p.open) == 0:
		r.Verdict, r.Confidence = fmt.Sprintf("Spending on one org leaves the others untouched (all of %d pairs): their limits add up", len(p.apart)), 0.95
	case len(p.apart) == 0:
		class = "additive by id"
		r.Verdict, r.Confidence = "The answers do not tell; the orgs have different ids, so their limits should add up", 0.5
		r.NotShown = append(r.NotShown, "whether spending on one org is felt on another: no limit headers, or levels too restless to tell")
	default:
		class = "undecided"
		r.Verdict, r.Confidence = strings.Join(p.apart, ", ")+" leave each other untouched; not told of "+strings.Join(p.open, ", "), 0.5
	}
	r.Config["class"] = class
}

// shareOf is what part of a spending on one org another's level fell by, what
// it falls by without one taken out.
func shareOf(spendings []spending, on, seen string) (Metric, bool) {
	var with, without []float64
	spent := 0.0
	for _, t := range spendings {
		fell, ok := t.Fell[seen]
		switch {
		case !ok:
		case t.Org == "":
			without = append(without, fell)
		case t.Org == on && t.Spent > 0:
			with = append(with, fell)
			spent += t.Spent
		}
	}
	m := Metric{Name: "felt", Unit: "share", N: len(with)}
	if len(with) < 2 || len(without) < 2 {
		return m, false
	}
	spent /= float64(len(with))
	mw, vw := moments(with)
	mo, vo := moments(without)
	se := math.Sqrt(vw/float64(len(with)) + vo/float64(len(without)))
	half := tFor(float64(len(with)+len(without)-2)) * se / spent
	m.Value = (mw - mo) / spent
	m.Low, m.High = m.Value-half, m.Value+half
	return m, true
}

// moments are mean and variance.
func moments(v []float64) (mean, variance float64) {
	for _, x := range v {
		mean += x / float64(len(v))
	}
	for _, x := range v {
		variance += (x - mean) * (x - mean) / float64(len(v)-1)
	}
	return mean, variance
}

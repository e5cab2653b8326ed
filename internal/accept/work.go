package main

import (
	"encoding/binary"
	"math"
	"net/http"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/plan"
	"github.com/flotilla-llm/flotilla/price"
)

// work is the rows to judge as virtual time needs them: what our side reads out
// of each body, and what the provider's side does.
type work struct {
	n        int
	distinct int // bodies
	calls    []plan.Call
	class    plan.Class
	bytes    int64       // of all bodies
	most     price.Nanos // that one of them can cost
}

func (w *work) call(i int) plan.Call { return w.calls[i] }

// scales are what weighs bodies: a fleet that sends nothing, and a model that is
// not asked.
type scales struct {
	fleet  *flotilla.Fleet
	model  *emulator.Model
	tokens [4]int64 // of a verdict, by digits
	seen   map[[16]byte]bool

	in, in2, out float64
}

// weigh reads the first n rows.
func (in *input) weigh(n int) (*work, error) {
	sc, err := world(scenarioName)
	if err != nil {
		return nil, err
	}
	fleet, err := flotilla.New(flotilla.Config{
		Orgs:      []flotilla.Org{{Name: "high", Key: flotilla.Key(emulator.Key("high"))}},
		Transport: func(flotilla.Org) http.RoundTripper { return nil }, // it weighs, and sends nothing
	})
	if err != nil {
		return nil, err
	}
	defer fleet.Close()
	s := &scales{fleet: fleet, model: emulator.NewModel(sc, seed, epoch), seen: map[[16]byte]bool{}}
	w := &work{n: n, calls: make([]plan.Call, 0, n)}
	err = in.each(n, func(_ string, body []byte) error { return s.put(w, body) })
	if err != nil {
		return nil, err
	}
	w.distinct = len(s.seen)
	c, rows := &w.class, float64(n)
	c.Rows, c.In, c.Bytes = n, s.in/rows, float64(w.bytes)/rows
	c.InDev = math.Sqrt(max(0, s.in2/rows-c.In*c.In))
	// A run foretells anew when its first answers have told how long they are.
	c.Out, c.OutRows, c.OutSource = s.out/rows, firstAnswers, "the first answers"
	return w, nil
}

// firstAnswers is how many answers a run waits for before it goes by their length.
const firstAnswers = 30

// put weighs one body on both sides.
func (s *scales) put(w *work, body []byte) (err error) {
	if len(w.calls) == 0 {
		if s.tokens, err = verdictTokens(body); err != nil {
			return err
		}
	}
	facts, err := s.fleet.Weigh(body)
	if err != nil {
		return err
	}
	a, err := s.model.Weigh(0, flotilla.DefaultVersion, body)
	if err != nil {
		return err
	}
	a.Out = s.tokens[digits(a.Hash)]
	w.calls = append(w.calls, plan.Call{
		Sched:   sched.Call{In: int32(facts.In), MaxOut: int32(facts.MaxTokens), Worst: int64(facts.Worst)},
		Arrival: a, Size: int64(len(body)), Alone: facts.Alone,
	})
	s.seen[a.Hash] = true
	s.in, s.in2, s.out = s.in+float64(facts.In), s.in2+float64(facts.In)*float64(facts.In), s.out+float64(a.Out)
	w.bytes += int64(len(body))
	w.most = max(w.most, facts.Worst)
	w.class.Worst += facts.Worst
	w.class.Model, w.class.Pool, w.class.Family, w.class.MaxTokens = facts.Model, facts.Pool, facts.Family, float64(facts.MaxTokens)
	return nil
}

// digits of a verdict from 0 to 100, spread by the body's hash.
func digits(hash [16]byte) int {
	switch v := binary.LittleEndian.Uint64(hash[:8]) % 101; {
	case v < 10:
		return 1
	case v < 100:
		return 2
	}
	return 3
}

// workTold is what the page says of the work.
type workTold struct {
	Distinct  int            `json:"distinct_bodies"`
	In        float64        `json:"estimated_input_tokens"`
	Out       float64        `json:"output_tokens"`
	Bytes     int64          `json:"bytes"`
	MaxTokens float64        `json:"max_tokens"`
	Worst     flotilla.Money `json:"worst_usd"`
	Model     string         `json:"model"`

	// Of all answers, as the provider counts them in the reference arm.
	InputTokens  int64   `json:"input_tokens"`
	OutputTokens int64   `json:"output_tokens_sum"`
	LatencyS     float64 `json:"latency_s"` // mean
}

func (w *work) told() workTold {
	return workTold{Distinct: w.distinct, In: w.class.In, Out: w.class.Out, Bytes: w.bytes, MaxTokens: w.class.MaxTokens, Worst: w.class.Worst, Model: w.class.Model}
}

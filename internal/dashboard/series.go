package dashboard

import (
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// The two rings: seconds for the last ten minutes, ten seconds for the last day.
// Together they take about 1.3 MB.
const (
	fineStep, fineSlots     = 1, 610
	coarseStep, coarseSlots = 10, 8650
)

// maxPoints is how many points a chart gets at most: more than pixels are of no use.
const maxPoints = 720

// numRefusals is how many refusals there are.
const numRefusals = 8

// refusals are the classes that count as refused: by a limit, or by an
// overloaded provider (Observation.Class).
var refusals = [numRefusals]string{"steady", "acceleration", "hidden", "concurrency", "daily", "spend", "queue_full", "overloaded"}

// slot is what happened in one step of a ring.
type slot struct {
	step    int64 // its number: Unix seconds over the ring's step; 0: nothing
	looks   int32 // at the fleet; 0: nobody looked, the process slept
	calls   int32 // that settled
	refused [numRefusals]int32
	output  int64 // tokens
	spent   flotilla.Money

	inFlight, queued float64 // sums over the looks
	gauged           int32   // looks that saw a fleet
}

// ring keeps the last slots of a step's length.
type ring struct {
	seconds int64
	slots   []slot
}

func (r *ring) at(unix int64) *slot {
	step := unix / r.seconds
	s := &r.slots[int(step%int64(len(r.slots)))]
	if s.step != step {
		*s = slot{step: step}
	}
	return s
}

// look reads a slot; nil: nobody looked in its time.
func (r *ring) look(step int64) *slot {
	if s := &r.slots[int(step%int64(len(r.slots)))]; s.step == step && s.looks > 0 {
		return s
	}
	return nil
}

// series is what happened over time.
type series struct {
	mu     sync.Mutex
	fine   ring
	coarse ring
	last   int64 // Unix second of the last look; 0: none
	from   int64 // Unix second of the first look
}

func newSeries() *series {
	return &series{fine: ring{fineStep, make([]slot, fineSlots)}, coarse: ring{coarseStep, make([]slot, coarseSlots)}}
}

// observe counts an attempt that ended.
func (s *series) observe(now time.Time, o *flotilla.Observation) {
	class := slices.Index(refusals[:], o.Class)
	s.both(now, func(at *slot) {
		if o.Final {
			at.calls++
		}
		if class >= 0 {
			at.refused[class]++
		}
		at.output += o.Usage.Output
		at.spent += o.Cost
	})
}

// settled counts rows that another process settled, and what it spent.
func (s *series) settled(now time.Time, calls int, spent flotilla.Money) {
	s.both(now, func(at *slot) {
		at.calls += int32(calls)
		at.spent += spent
	})
}

func (s *series) both(now time.Time, do func(*slot)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do(s.fine.at(now.Unix()))
	do(s.coarse.at(now.Unix()))
}

// lateLook is how late a look may be that still vouches for the time since the
// one before; a longer pause is a gap.
const lateLook = 3

// look notes that somebody looked, and what a fleet had under way; nil: there
// was no fleet to look at.
func (s *series) look(now time.Time, load *load) {
	s.mu.Lock()
	defer s.mu.Unlock()
	unix := now.Unix()
	from := unix
	if s.last > 0 && unix-s.last <= lateLook {
		from = min(s.last+1, unix)
	}
	if s.from == 0 {
		s.from = unix
	}
	for at := from; at <= unix; at++ {
		for _, one := range []*slot{s.fine.at(at), s.coarse.at(at)} {
			one.looks++
			if load != nil {
				one.gauged++
				one.inFlight += float64(load.inFlight)
				one.queued += float64(load.queued)
			}
		}
	}
	s.last = unix
}

// load is what a fleet has under way.
type load struct{ inFlight, queued int }

// chart is a series as the API gives it. Values are of a step: sums, and means
// of what was in flight and waited. Null: nobody looked.
type chart struct {
	Step     int64               `json:"step_s"`
	T        []int64             `json:"t"`
	Calls    []*int64            `json:"calls"`
	Refused  []*int64            `json:"refused"`
	By       map[string][]*int64 `json:"refused_by"`
	Output   []*int64            `json:"output_tokens"`
	USD      []*flotilla.Money   `json:"usd"`
	InFlight []*float64          `json:"in_flight"`
	Queued   []*float64          `json:"queued"`
}

// point is one step of a chart.
type point struct {
	T        int64           `json:"t"`
	Calls    *int64          `json:"calls"`
	Refused  *int64          `json:"refused"`
	Output   *int64          `json:"output_tokens"`
	USD      *flotilla.Money `json:"usd"`
	InFlight *float64        `json:"in_flight"`
	Queued   *float64        `json:"queued"`

	by [numRefusals]int32
}

// sum adds slots up; nil ones are gaps.
func sum(t int64, slots []*slot) point {
	p := point{T: t}
	var calls, refused, output int64
	var spent flotilla.Money
	var total slot
	for _, s := range slots {
		if s == nil {
			continue
		}
		total.looks++
		calls, output, spent = calls+int64(s.calls), output+s.output, spent+s.spent
		for i, n := range s.refused {
			p.by[i] += n
			refused += int64(n)
		}
		total.gauged += s.gauged
		total.inFlight, total.queued = total.inFlight+s.inFlight, total.queued+s.queued
	}
	if total.looks == 0 {
		return p
	}
	p.Calls, p.Refused, p.Output, p.USD = &calls, &refused, &output, &spent
	if n := float64(total.gauged); n > 0 {
		inFlight, queued := total.inFlight/n, total.queued/n
		p.InFlight, p.Queued = &inFlight, &queued
	}
	return p
}

// read makes a chart of the whole steps of the last minutes, the one under way
// left out.
func (s *series) read(now time.Time, minutes int) chart {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.coarse
	if minutes <= 10 {
		r = &s.fine
	}
	n := int64(minutes) * 60 / r.seconds // steps of the ring
	each := (n + maxPoints - 1) / maxPoints
	c := chart{Step: each * r.seconds, By: map[string][]*int64{}}
	end := now.Unix() / c.Step // the step under way
	slots := make([]*slot, each)
	for at := end - n/each; at < end; at++ {
		for i := range slots {
			slots[i] = r.look(at*each + int64(i))
		}
		c.add(sum(at*c.Step, slots))
	}
	return c
}

func (c *chart) add(p point) {
	c.T, c.Calls, c.Refused, c.Output = append(c.T, p.T), append(c.Calls, p.Calls), append(c.Refused, p.Refused), append(c.Output, p.Output)
	c.USD, c.InFlight, c.Queued = append(c.USD, p.USD), append(c.InFlight, p.InFlight), append(c.Queued, p.Queued)
	for i, class := range refusals {
		var n *int64
		if p.Calls != nil {
			v := int64(p.by[i])
			n = &v
		}
		c.By[class] = append(c.By[class], n)
	}
}

// second is the point of one second.
func (s *series) second(unix int64) point {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sum(unix, []*slot{s.fine.look(unix)})
}

// daySpan is the longest chart, in minutes.
const daySpan = 24 * 60

func (d *Dashboard) serveSeries(w http.ResponseWriter, r *http.Request) {
	minutes := 30
	if text := r.FormValue("minutes"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > daySpan {
			writeError(w, http.StatusBadRequest, "minutes is a whole number from 1 to 1440")
			return
		}
		minutes = n
	}
	writeJSON(w, d.series.read(d.cfg.Now(), minutes))
}

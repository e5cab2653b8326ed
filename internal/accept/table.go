package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

// table is the outcome of the run: acceptance.json.
type table struct {
	Note     string       `json:"note"`
	Scenario string       `json:"scenario"`
	Seed     uint64       `json:"seed"`
	Input    string       `json:"input"`
	Rows     int          `json:"rows"`
	Rubric   string       `json:"rubric"`
	Work     workTold     `json:"work"`
	Profile  *profileTold `json:"profile"`
	Targets  []target     `json:"targets"`

	Unfinished string `json:"unfinished,omitempty"` // why arms are missing
	Arms       []*arm `json:"arms"`
}

// target is a figure that the run is held to.
type target struct {
	What string  `json:"what"`
	Want string  `json:"want"`
	Got  float64 `json:"got"`
	Met  bool    `json:"met"`
	Size bool    `json:"needs_all_rows,omitempty"` // it means nothing of few rows
}

func (t *table) add(a *arm) { t.Arms = append(t.Arms, a) }

// readTable reads acceptance.json.
func readTable(path string) (*table, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &table{}
	if err := json.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("reading %s: %w", path, err)
	}
	return t, nil
}

// find gives an arm; nil: there is none.
func (t *table) find(id, over string) *arm {
	for _, a := range t.Arms {
		if a.ID == id && a.Over == over {
			return a
		}
	}
	return nil
}

// The targets of speed.
const (
	batchTimes = 15
	fastTimes  = 60
)

// compare puts every arm beside the script and holds the run to its targets.
func (t *table) compare() {
	t.Targets = nil
	for _, a := range t.Arms {
		if s := t.script(a.Over); s != nil && a.WallS > 0 {
			a.Faster = s.perRow() * float64(a.Succeeded) / a.WallS
		}
		a.explain(t)
	}
	for _, over := range []string{overVirtual, overHTTP} {
		t.speedTarget(over, "b", "(b) by batch", batchTimes)
		t.speedTarget(over, "c-fast", "(c) fast", fastTimes)
		t.speedTarget(over, "c-fast-p", "(c) fast by the profile", fastTimes)
		t.zeroTargets(over)
	}
}

// script is arm (a), which arms over a medium are compared with: over HTTP the
// quicker of its two runs, since a slow machine must not flatter the others.
func (t *table) script(over string) *arm {
	pure, own := t.find("a", overVirtual), t.find("a", over)
	if own == nil || pure != nil && pure.perRow() < own.perRow() {
		return pure
	}
	return own
}

// perRow is the seconds that the arm took for a row.
func (a *arm) perRow() float64 { return a.WallS / float64(max(1, a.Succeeded)) }

func (t *table) speedTarget(over, id, what string, times float64) {
	a := t.find(id, over)
	if a == nil {
		return
	}
	if a.Rows < t.Rows {
		what += fmt.Sprintf(", %s rows", grouped(a.Rows))
	}
	t.Targets = append(t.Targets, target{
		What: fmt.Sprintf("%s, over %s, times as fast as (a)", what, over), Want: fmt.Sprintf("≥ %.0f", times),
		Got: a.Faster, Met: a.Faster >= times, Size: true,
	})
}

// zeroTargets are sums over the dispatcher's arms.
func (t *table) zeroTargets(over string) {
	var lost, doubled, dollars, slots float64
	n := 0
	for _, a := range t.Arms {
		if a.Over != over || !a.promised() {
			continue
		}
		n++
		lost, doubled = lost+float64(a.Lost), doubled+float64(a.Doubled)
		dollars, slots = dollars+a.OverCap.Float(), slots+float64(max(0, a.OverSlots))
	}
	if n == 0 {
		return
	}
	for _, z := range []struct {
		what string
		got  float64
	}{{"rows lost", lost}, {"rows doubled", doubled}, {"dollars over the cap", dollars}, {"calls in flight over the cap per key", slots}} {
		t.Targets = append(t.Targets, target{
			What: fmt.Sprintf("(b) and (c), over %s, %d arms: %s", over, n, z.what), Want: "0", Got: z.got, Met: z.got == 0,
		})
	}
}

// judge is an error that names the targets that were missed.
func (t *table) judge(quick bool) error {
	if t.Unfinished != "" {
		return errors.New("not finished: " + t.Unfinished)
	}
	var missed []string
	for _, x := range t.Targets {
		if !x.Met && !(quick && x.Size) {
			missed = append(missed, fmt.Sprintf("%s: %.4g, want %s", x.What, x.Got, x.Want))
		}
	}
	if len(missed) > 0 {
		return errors.New("missed: " + strings.Join(missed, "; "))
	}
	return nil
}

// profileTold is what was measured, as far as routing goes by it.
type profileTold struct {
	Measured time.Time          `json:"measured"`
	Emulated string             `json:"emulated"`
	First    float64            `json:"first_token_s"`
	PerSec   float64            `json:"tokens_per_s"`
	Orgs     map[string]orgTold `json:"orgs"`
}

type orgTold struct {
	Requests  float64 `json:"requests_per_min"`
	Input     float64 `json:"input_per_min"`
	Output    float64 `json:"output_per_min"`
	Queue     int64   `json:"batch_queue"`
	OverheadS float64 `json:"batch_overhead_s"`
	RowRate   float64 `json:"batch_rows_per_s"`
	Parallel  int     `json:"batches_at_once"`
}

// profileOf says what a profile knows.
func profileOf(p *lab.Profile) *profileTold {
	out := &profileTold{Measured: p.Measured, Emulated: p.Emulated, Orgs: map[string]orgTold{}}
	if q := paceOf(p, judgeModel)[family]; q.First > 0 {
		out.First, out.PerSec = q.First.Seconds(), q.PerSecond
	}
	for _, name := range allOrgs {
		o := taught(p, name, p.Measured)
		l := o.PerMinute[pool]
		out.Orgs[name] = orgTold{l.Requests, l.Input, l.Output, o.BatchQueue, o.Turnaround.Overhead.Seconds(), o.Turnaround.RowRate, o.Turnaround.Parallel}
	}
	return out
}

// judgeModel is the one that the rubric names.
const judgeModel = "claude-sonnet-4-6"

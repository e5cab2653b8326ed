package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/sched"
)

// TestNamedScenarios runs a job in each scenario of interface.md that concerns
// the sync tier, and says whether it ends as a user would hope.
func TestNamedScenarios(t *testing.T) {
	t.Parallel()
	var rows []row
	for i, h := range hopes() {
		rows = append(rows, h.row(i+1))
	}
	runRows(t, "the named scenarios: three orgs, claude-sonnet-4-6; eff = (T_P + longest answer)/T", rows)
}

// hope is a scenario, a job in it, and what its user hopes for beyond what all
// do: every call answered, and no org above its cap.
type hope struct {
	scenario string
	work     work
	change   []func(*Setting)
	checks   []check
	figures  func(r *result) []float64
	scene    func(*emulator.Scenario) // changes the scenario; nil: as it is
	note     string
}

// result is a run as a user may look at it.
type result struct {
	o      *Outcome
	b      bounds
	sc     emulator.Scenario
	m      *emulator.Model
	parked []sched.Note // lanes that closed
}

func (h hope) row(n int) row {
	return row{
		n: n, name: h.scenario + h.note,
		checks: append([]check{most("lost", h.mayLose()), most("in flight of an org", 100)}, h.checks...),
		run: func(t *testing.T, seed uint64) []float64 {
			r := h.play(t, seed, days)
			return append([]float64{lost(r.o), float64(slices.Max(r.o.PeakByLane))}, h.figures(r)...)
		},
		compare: h.rivals,
	}
}

// patience is how long a naive controller may take: some knock at a closed org
// until its day is over.
const patience = time.Hour

// rivals runs ours and the naive controllers under seed 1; efficiency is eff's.
func (h hope) rivals(t *testing.T) []rival {
	var out []rival
	for _, name := range []string{"ours", "aimd", "inspect", "sdk"} {
		r := h.play(t, 1, patience, controller(name))
		out = append(out, rival{
			name: name, eff: r.naiveEff(), refused: r.o.Failures - r.o.Faults, failed: r.o.Outcomes[sched.Errored],
			others: r.others(), notEnded: r.o.Stalled,
		})
	}
	return out
}

// mayLose: on a bad network a call may be unlucky three times, which is what a
// row's attempts are limited to.
func (h hope) mayLose() float64 {
	if h.scenario == "flaky-network" || h.scenario == "everything" {
		return 3
	}
	return 0
}

func (h hope) play(t *testing.T, seed uint64, limit time.Duration, more ...func(*Setting)) *result {
	sc, err := emulator.Named(h.scenario)
	if err != nil {
		t.Fatal(err)
	}
	if h.scene != nil {
		h.scene(&sc)
	}
	r := &result{sc: sc, m: emulator.NewModel(sc, seed, epoch)}
	set := setting(&sc, h.work, seed, append(slices.Clone(h.change), more...)...)
	set.Streamed = false // as --stream auto has it for short answers
	set.Observe = func(_ time.Duration, _ sched.Event, acts []sched.Action) {
		for _, act := range acts {
			if n, ok := act.(*sched.Note); ok && n.Kind == sched.NoteParked {
				r.parked = append(r.parked, *n)
			}
		}
	}
	r.o = Rehearse(r.m, limit, set)[0]
	r.b = boundsOf(&sc, 100, r.o)
	return r
}

// eff is the polite bound and the longest answer, over the makespan: the last
// call may be a straggler, and no policy can promise more (facts/control.md C.1).
func (r *result) eff() float64 { return r.promise(&r.b, polite) }

// naiveEff is eff, and 0 for what has not ended.
func (r *result) naiveEff() float64 {
	if r.o.Stalled {
		return 0
	}
	return r.eff()
}

func (r *result) promise(b *bounds, m manners) float64 {
	return (b.time(m) + b.most) / r.o.Makespan().Seconds()
}

// without is the same with an org left out.
func (r *result) without(org int) float64 {
	b := r.b
	b.orgs = slices.Delete(slices.Clone(b.orgs), org, org+1)
	return r.promise(&b, polite)
}

func (r *result) refused(c emulator.Class) float64 { return float64(r.o.Refused[c]) }

func (r *result) others() float64 { return othersRefused(r.m, r.o) }

func (r *result) limited() float64 { return float64(r.o.RateLimited()) }

// perOrgMinute is refusals a minute and org.
func (r *result) perOrgMinute() float64 {
	return r.limited() / r.o.Makespan().Minutes() / float64(len(r.sc.Orgs))
}

// closed is how many of a lane's closings were for a class.
func (r *result) closed(lane sched.LaneID, class sched.Class) float64 {
	n := 0
	for _, p := range r.parked {
		if p.Lane == lane && p.Class == class {
			n++
		}
	}
	return float64(n)
}

// high is the first org of the named scenarios.
const high = 0

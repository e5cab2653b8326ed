package lab

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
)

// killed runs an experiment that is interrupted after each of some spans, and
// goes on; gone is what an interruption lasts.
func killed(t *testing.T, env *Env, s *emulator.Server, x Experiment, gone time.Duration, after ...time.Duration) *Result {
	t.Helper()
	for _, span := range after {
		ctx, cancel := context.WithTimeout(t.Context(), span)
		_, err := Run(ctx, env, x)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("interrupted after %v: %v", span, err)
		}
		time.Sleep(gone)
		env.Start = s.Now()
	}
	r, err := Run(t.Context(), env, x)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// An experiment that waits for its batches goes on with them: the rerun creates
// none a second time.
func TestBatchSizeGoesOn(t *testing.T) {
	virtual(t, scenario(t, "default"), func(t *testing.T, env *Env, s *emulator.Server) {
		r := killed(t, env, s, BatchSize(), 10*time.Minute, 90*time.Second, 20*time.Minute, 45*time.Minute)
		if r.Config["class"] != "parallel" {
			t.Errorf("%s: %+v", r.Verdict, r.Metrics)
		}
		if got, want := int64(r.Cost.Total), billed(s); got != want {
			t.Errorf("the bill is %d, the emulator's %d", got, want)
		}
		planned := int64(0)
		for _, l := range r.Estimate.Lines {
			planned += l.Calls
		}
		rows := int64(0)
		for _, o := range s.Stats().Orgs {
			rows += o.Batches.Rows
		}
		if rows != planned {
			t.Errorf("%d rows sent, %d planned", rows, planned)
		}
	})
}

// A look at a fixed age that an interruption fell into is done again; what was
// in flight is canceled, collected and paid for once.
func TestBatchMechanismGoesOn(t *testing.T) {
	virtual(t, scenario(t, "starved-batch-size"), func(t *testing.T, env *Env, s *emulator.Server) {
		env.Log = nil
		// It begins at 11:00:17 and is interrupted in the first cell, which is done
		// again a day later; before the canary of the one at 14:00; and late in the
		// one at 21:00.
		r := killed(t, env, s, BatchMechanism(), 40*time.Minute, 5*time.Minute, 2*time.Hour+16*time.Minute, 6*time.Hour+27*time.Minute)
		planned := 0
		for _, c := range cells() {
			for _, x := range c.rounds(orgNames(3)) {
				planned += len(x.Lots)
			}
		}
		made := 0
		for _, o := range s.Stats().Orgs {
			made += int(o.Batches.Created)
		}
		if perCell := planned / len(cells()); made != planned+3*perCell-1 {
			t.Errorf("%d batches for %d of the plan: three cells were to be done again, one of them without its canary", made, planned)
		}
		if r.Config["class"] != "size" || r.Config["cells"] != days*len(cellHours) {
			t.Errorf("%s after %v cells: %v", r.Verdict, r.Config["cells"], r.NotShown)
		}
		if got, want := int64(r.Cost.Total), billed(s); got != want {
			t.Errorf("the bill is %d, the emulator's %d", got, want)
		}
		for i := range s.Stats().Orgs {
			if o := s.Stats().Orgs[i].Batches; o.Succeeded+o.Errored+o.Canceled+o.Expired != o.Rows {
				t.Errorf("rows are left: %+v", o)
			}
		}
	})
}

// What cannot run says what to do.
func TestBatchRefusals(t *testing.T) {
	sc := scenario(t, "default")
	sc.Orgs = sc.Orgs[:1]
	virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
		refused := func(x Experiment) *RefusedError {
			t.Helper()
			_, err := Run(t.Context(), env, x)
			var r *RefusedError
			if !errors.As(err, &r) || r.Hint == "" {
				t.Errorf("%s: %v", x.Name(), err)
			}
			return r
		}
		refused(BatchAdditivity()) // one org
		env.MaxSpend = 1
		refused(BatchDepth())
		env.MaxSpend = 0
		env.Orgs[0].NoBatch = true
		for _, x := range []Experiment{BatchDepth(), BatchSize(), BatchCliff(), BatchAdditivity(), BatchMechanism()} {
			refused(x)
		}
		if n := s.Stats().Orgs[0].Batches.Created; n != 0 {
			t.Errorf("%d batches were created", n)
		}
	})
}

// A cap that pays for the rows but not for the worst case of all that would be
// queued at once leaves the deep levels out, and says so.
func TestBatchDepthUnderACap(t *testing.T) {
	virtual(t, scenario(t, "steady"), func(t *testing.T, env *Env, s *emulator.Server) {
		env.Log = nil
		for i := range env.Orgs {
			env.Orgs[i].BatchQueue = 65_000
		}
		est := BatchDepth().Estimate(env)
		env.MaxSpend = est.Cost(env.table())
		r, err := Run(t.Context(), env, BatchDepth())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %v", r.Verdict, r.NotShown)
		if len(r.NotShown) == 0 || len(BatchDepth().Estimate(env).Warnings) == 0 {
			t.Errorf("nothing is said of what was left out: %+v", r.NotShown)
		}
		if got := billed(s); got > int64(env.MaxSpend) || got != int64(r.Cost.Total) {
			t.Errorf("billed %d under a cap of %d, the bill says %d", got, int64(env.MaxSpend), int64(r.Cost.Total))
		}
	})
}

// Colleagues' rows count against the share of the queue that is filled.
func TestBatchQueueIsShared(t *testing.T) {
	sc := scenario(t, "steady")
	sc.Orgs = sc.Orgs[:1]
	sc.Orgs[0].BatchQueue = 20_000
	sc.Orgs[0].BatchColleagues = []emulator.BatchColleague{{Rows: 2000, Every: 10 * time.Minute}}
	virtual(t, sc, func(t *testing.T, env *Env, s *emulator.Server) {
		env.Log, env.Orgs[0].BatchQueue = nil, 20_000
		time.Sleep(2 * time.Minute)
		env.Start = s.Now()
		r, err := Run(t.Context(), env, BatchSize())
		if err != nil {
			t.Fatal(err)
		}
		m, ok := r.Metric("others_queued", "high", "")
		if !ok || m.Value < 2000 {
			t.Errorf("colleagues' rows: %+v", m)
		}
		if peak := s.Stats().Orgs[0].Batches.PeakQueued; peak > 20_000 {
			t.Errorf("%d rows queued", peak)
		}
		for _, b := range s.Stats().Orgs[0].Pools {
			if b.Refused[emulator.QueueFull] > 0 {
				t.Errorf("%d creates were refused for a full queue", b.Refused[emulator.QueueFull])
			}
		}
	})
}

package job

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// slow answers each call after a tenth of a second of the bubble's time.
func slow(call int, body []byte) flotilla.Result {
	time.Sleep(100 * time.Millisecond)
	return echo(call, body)
}

// ask leaves word for the only job of the bench's journal after a while.
func (b *bench) ask(after time.Duration, s journal.Signal) {
	go func() {
		time.Sleep(after)
		jobs, err := b.j.Jobs(context.Background(), time.Time{})
		if err != nil || len(jobs) != 1 {
			b.t.Errorf("%d jobs, %v", len(jobs), err)
			return
		}
		if err := b.j.Signal(context.Background(), jobs[0].ID, s); err != nil {
			b.t.Error(err)
		}
	}()
}

func TestCancelSettlesWhatIsPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 40)}
		f := b.fleet()
		f.answer = slow
		b.ask(1500*time.Millisecond, journal.Cancel)
		e := b.run(f)
		if e.code != ExitRows || e.Canceled == 0 || e.Canceled+e.Succeeded != 40 || e.Pending != 0 {
			t.Fatalf("exit %d, %+v, %v", e.code, e.Summary, e.err)
		}
		lines := b.lines()
		if len(lines) != 40 {
			t.Errorf("%d lines", len(lines))
		}
		canceled := 0
		for _, v := range lines {
			if v.Get("result").Raw == `{"type":"canceled"}` {
				canceled++
			}
		}
		if canceled != e.Canceled {
			t.Errorf("%d lines say canceled, %d rows are", canceled, e.Canceled)
		}
		b.cfg.Retry = []string{"canceled"}
		again := b.fleet()
		if e := b.run(again); e.code != ExitOK || len(again.sent) != canceled {
			t.Errorf("exit %d, %d sent, %v", e.code, len(again.sent), e.err)
		}
		b.whole(40)
	})
}

func TestPauseHoldsTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 40)}
		f := b.fleet()
		f.answer = slow
		start := time.Now()
		b.ask(1500*time.Millisecond, journal.Pause)
		b.ask(61*time.Second, journal.Go)
		e := b.run(f)
		if e.code != ExitOK || e.Succeeded != 40 || len(f.sent) != 40 || e.Attempts != 40 {
			t.Errorf("exit %d, %d sent, %+v, %v", e.code, len(f.sent), e.Summary, e.err)
		}
		if took := time.Since(start); took < 60*time.Second || took > 70*time.Second {
			t.Errorf("it took %v", took)
		}
		b.whole(40)
	})
}

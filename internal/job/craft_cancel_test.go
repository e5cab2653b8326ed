package job

import (
	"math"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// A call that is canceled between two questions has cost what its first answer
// did, and its line says so: the costs of all lines are those of the job.
func TestCraftCanceled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, p := pollBench(t, 40, 0, 5)
		f := b.pollFleet(p)
		f.answer = func(i int, body []byte) flotilla.Result {
			slow(i, body)
			return p.answer(i, body)
		}
		b.ask(1500*time.Millisecond, journal.Cancel)
		e := b.run(f)
		if e.err != nil || e.Canceled == 0 || e.Succeeded == 0 || e.Pending != 0 {
			t.Fatalf("%+v, %v", e.Summary, e.err)
		}
		b.wantCosts(&e)
		want := b.pollLines()
		if err := os.Remove(b.cfg.Output.Path); err != nil {
			t.Fatal(err)
		}
		if e := b.run(b.pollFleet(p)); e.err != nil {
			t.Fatalf("again: %+v, %v", e.Summary, e.err)
		}
		if diff := cmp.Diff(want, b.pollLines()); diff != "" {
			t.Errorf("OUT from the journal (-want +got)\n%s", diff)
		}
	})
}

// wantCosts holds the costs of all lines to that of the job.
func (b *bench) wantCosts(e *ended) {
	b.t.Helper()
	sum, half := 0.0, 0
	for line := range strings.Lines(string(readOut(b))) {
		v := gjson.Parse(line)
		cost := v.Get("flotilla.cost_usd").Num
		sum += cost
		if v.Get("poll.failed").Bool() && !v.Get("poll.told").Bool() && cost > 0 {
			half++
		}
	}
	if want := e.CostUSD.Float(); math.Abs(sum-want) > 1e-9 {
		b.t.Errorf("lines cost %v, the job %v", sum, want)
	}
	if half == 0 {
		b.t.Error("no call was canceled between two questions: this test tells nothing")
	}
}

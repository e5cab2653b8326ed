package flotilla_test

import (
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

func newLine(t *testing.T, fleet *flotilla.Fleet, opt flotilla.LineOptions) *flotilla.Line {
	t.Helper()
	line, err := fleet.Line(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return line
}

// ask makes a call and reads its answer.
func ask(t *testing.T, line *flotilla.Line, body []byte) (*flotilla.Answer, []byte) {
	t.Helper()
	a, err := line.Do(t.Context(), flotilla.Call{Body: body})
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Body.Close(); err != nil {
		t.Error("close:", err)
	}
	return a, data
}

func TestLineAnswersCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "default"), Seed: 1})
		store := &records{}
		cfg := w.config()
		cfg.Store = store
		fleet := newFleet(t, cfg)
		line := newLine(t, fleet, flotilla.LineOptions{Name: "app", Priority: flotilla.Normal, Job: 7})
		spent := flotilla.Money(0) // and all of it is in the store when Close returns
		for i := range 50 {
			a, _ := ask(t, line, request(i).Body)
			res, ok := a.Settled()
			if a.Status != http.StatusOK || a.Org == "" || a.Attempts != 1 || !ok || res.Err != nil || res.Cost <= 0 {
				t.Fatalf("answer %+v, settled %+v, %v", a, res, ok)
			}
			spent += res.Cost
		}
		if err := line.Close(time.Second); err != nil {
			t.Error(err)
		}
		charged := flotilla.Money(0)
		open := map[int64]flotilla.Money{}
		for _, r := range store.all() {
			switch {
			case r.Kind == flotilla.BlockRecord && r.Step == flotilla.BlockOpen:
				open[r.Block] = r.Worst
			case r.Kind == flotilla.BlockRecord:
				delete(open, r.Block)
			case r.Kind == flotilla.OutcomeRecord:
				charged += r.Charged
				if open[r.Block] -= r.Worst; open[r.Block] < 0 {
					t.Errorf("block %d is overdrawn by %v", r.Block, open[r.Block])
				}
			default:
				t.Errorf("record %+v", r)
			}
		}
		if charged != spent || len(open) != 0 {
			t.Errorf("charged %v, answers cost %v; %d blocks open", charged, spent, len(open))
		}
	})
}

package dashboard

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/flotilla-llm/flotilla/journal"
)

// A job over the emulator, watched from its first row to its last: paused,
// resumed, searched, and ended.
func TestAJobLive(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs a job in real time")
	}
	s := newStage(t, setting{speed: 2, conc: 20, rules: hostile})
	key, end := s.play(t.Context(), "live.jsonl", promptRows(1500), nil)
	find := func() (j jobJSON) {
		var st state
		s.get("state", &st)
		for _, one := range st.Jobs {
			if one.Key == key {
				return one
			}
		}
		return j
	}
	s.until("its first answers", func() bool { return find().Succeeded > 20 })
	if j := find(); j.State != "running" || !j.Controllable || j.N != 1500 || j.Spent == 0 {
		t.Errorf("running: %+v", j)
	}
	if code := s.post("jobs/"+key+"/pause", ""); code != http.StatusNoContent {
		t.Fatal("pause:", code)
	}
	s.until("the pause", func() bool { return find().State == "paused" })
	s.until("the end of what was in flight", func() bool {
		var st state
		s.get("state", &st)
		n := 0
		for _, l := range st.Lanes {
			n += l.InFlight
		}
		return n == 0
	})
	var found rowsJSON
	s.until("all rows searchable", func() bool {
		s.get("jobs/"+key+"/rows?q=question&status=succeeded", &found)
		return found.Indexed == 1
	})
	var d jobDetail
	s.get("jobs/"+key, &d)
	if found.Matched == 0 || found.Matched != d.Succeeded || *found.Rows[0].ID != fmt.Sprint("r/", found.Rows[0].Row) {
		t.Errorf("found while it is paused: %d of %d", found.Matched, d.Succeeded)
	}
	if code := s.post("jobs/"+key+"/cap", `{"usd":50}`); code != http.StatusNoContent {
		t.Error("cap:", code)
	}
	if code := s.post("jobs/"+key+"/resume", ""); code != http.StatusNoContent {
		t.Fatal("resume:", code)
	}
	s.until("its end", func() bool { return find().State == journal.Finished })
	end()
	s.ended(key)
}

// ended holds what is shown of a job that is over to what became of it.
func (s *stage) ended(key string) {
	t := s.t
	var d jobDetail
	s.get("jobs/"+key, &d)
	if d.Pending != 0 || d.Succeeded != 1500 || d.Totals == nil || d.StopReasons["refusal"] == 0 || d.StopReasons["max_tokens"] == 0 || d.StopReasons["end_turn"] == 0 {
		t.Errorf("at its end: %+v", d)
	}
	var st state
	s.get("state", &st)
	if *st.Totals.Calls != 1500 || *st.Totals.Succeeded != 1500 || *st.Totals.CostUSD != d.Spent || len(st.Lanes) == 0 {
		t.Errorf("in all: %d calls, %v; the job spent %v", *st.Totals.Calls, *st.Totals.CostUSD, d.Spent)
	}
	var c chart
	s.get("series?minutes=5", &c)
	sum := int64(0)
	for _, n := range c.Calls {
		if n != nil {
			sum += *n
		}
	}
	if sum == 0 || sum > 1500 || c.Step != 1 {
		t.Errorf("the series have %d calls, by %d s", sum, c.Step)
	}
	var recent []attempt
	s.get("recent?limit=5", &recent)
	if len(recent) != 5 || recent[0].Model != "claude-haiku-4-5" || recent[0].Org == "" {
		t.Errorf("recent: %+v", recent)
	}
	// Its run is over: its rows are read from its inputs now.
	var r rowDetail
	if code := s.get("jobs/"+key+"/rows/7", &r); code != http.StatusOK || r.Body == nil || r.Message == nil || *r.ID != "r/7" {
		t.Errorf("row 7, afterwards: %+v", r)
	}
}

// A lane that a person held takes nothing, and says so.
func TestALaneIsHeld(t *testing.T) {
	if testing.Short() {
		t.Skip("it asks a fleet in real time")
	}
	s := newStage(t, setting{speed: 20})
	_, end := s.play(t.Context(), "held.jsonl", promptRows(60), nil)
	end()
	lane := func() laneJSON {
		var st state
		s.get("state", &st)
		for _, l := range st.Lanes {
			if l.Org == "high" && l.Tier == "sync" {
				return l
			}
		}
		t.Fatal("there is no lane of high")
		return laneJSON{}
	}
	l := lane()
	if l.Paused == nil || *l.Paused {
		t.Fatalf("before: %+v", l)
	}
	path := "lanes/high/" + l.Pool + "/sync/"
	if code := s.post(path+"pause", ""); code != http.StatusNoContent {
		t.Fatal("pause:", code)
	}
	s.until("the pause", func() bool { return *lane().Paused })
	if code := s.post(path+"resume", ""); code != http.StatusNoContent {
		t.Fatal("resume:", code)
	}
	s.until("its end", func() bool { return !*lane().Paused })
	if code := s.post("lanes/nobody/x/sync/pause", ""); code != http.StatusConflict {
		t.Error("a lane that is not there:", code)
	}
}

package journal_test

import (
	"context"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/journal/journaltest"
)

func TestJobOfALiveProcessIsRefused(t *testing.T) {
	p := path(t)
	other := start(t, "hold", p)
	other.line()
	j := open(t, p, journal.Options{})

	_, err := j.Begin(t.Context(), journaltest.Spec("a", 3))
	host, _ := os.Hostname()
	var held *journal.HeldError
	if !errors.As(err, &held) || held.PID != other.cmd.Process.Pid || held.Host != host || held.Job != "6100" {
		t.Fatalf("begin: %v; want held by process %d on %s", err, other.cmd.Process.Pid, host)
	}
	if _, err := j.Begin(t.Context(), journaltest.Spec("b", 3)); err != nil {
		t.Errorf("another job: %v", err)
	}
	if info, err := j.Find(t.Context(), "61"); err != nil || info.Holder == nil || info.Holder.PID != held.PID || info.State != journal.Running {
		t.Errorf("listed as %+v, %v", info, err)
	}
	// Its grant of the day stays taken, spent or not.
	if got, err := j.Grant(t.Context(), 0, journaltest.Noon, 1000, 1000); err != nil || got.Granted != 200 {
		t.Errorf("granted %+v, %v; want 200 beside the other's 800", got, err)
	}

	other.kill()
	if info, err := j.Find(t.Context(), "61"); err != nil || info.Holder != nil || info.State != journal.Interrupted {
		t.Errorf("after the kill listed as %+v, %v", info, err)
	}
	job := begin(t, j, 3)
	st := state(t, job)
	if job.Left != journal.Running || st.Outcome(0) != journal.Succeeded || !st.InDoubt(1) || st.Spent != 500 || st.Doubt != 300 {
		t.Errorf("taken over %+v: counts %v, %v spent, %v in doubt", job, st.Counts, st.Spent, st.Doubt)
	}
	// Its grant is known now: 200 spent and 300 in doubt, beside our 200.
	if got, err := j.Grant(t.Context(), 0, journaltest.Noon, 1000, 1000); err != nil || got.Granted != 500 || got.Used != 1000 {
		t.Errorf("granted %+v, %v; want 500 of 1000", got, err)
	}
}

// A corpse that its parent has not yet waited for is dead.
func TestJobOfAZombieIsTakenOver(t *testing.T) {
	p := path(t)
	other := start(t, "hold", p)
	other.line()
	j := open(t, p, journal.Options{})
	if err := other.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := other.out.ReadString('\n'); err == nil { // it has closed its output, so it is gone
		t.Fatal("the child still speaks")
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		// The pipe closes a moment before the process is a zombie.
		_, err := j.Begin(t.Context(), journaltest.Spec("a", 3))
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func TestLeaseBetweenProcesses(t *testing.T) {
	p := path(t)
	one, two := start(t, "lease", p), start(t, "lease", p)
	for _, step := range []struct {
		who  *process
		say  string
		want string // held, target, peers
	}{
		{one, "want 300", "100 100 0"}, // alone: all of it is lent
		{two, "want 80", "0 50 1"},     // nothing is free yet
		{one, "want 300", "100 50 1"},  // to shrink
		{two, "want 80", "0 50 1"},     // not acknowledged yet
		{one, "keep 60", "kept"},       // as far as it has drained
		{two, "want 80", "40 50 1"},
		{one, "keep 50", "kept"},
		{two, "want 80", "50 50 1"},
		{one, "want 20", "50 20 1"}, // needs less: the rest is lent
		{one, "keep 20", "kept"},
		{two, "want 80", "80 80 1"},
	} {
		if got := step.who.say("%s", step.say); got != step.want {
			t.Fatalf("%s: %s, want %s", step.say, got, step.want)
		}
	}
	two.kill()
	if got := one.say("want 300"); got != "100 100 0" {
		t.Errorf("after the other's death: %s, want 100 100 0", got)
	}
}

// Several processes may create one journal at once.
func TestOpenAtOnce(t *testing.T) {
	p := path(t)
	var all []*process
	for range 4 {
		all = append(all, start(t, "lease", p))
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			j, err := journal.Open(context.Background(), p, journal.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, child := range all {
		child.say("want 1")
	}
}

func TestExclusiveKeepsOthersOut(t *testing.T) {
	p := path(t)
	j := open(t, p, journal.Options{Exclusive: true})
	if !j.Exclusive() {
		t.Error("not exclusive")
	}
	begin(t, j, 1)
	_, err := journal.Open(t.Context(), p, journal.Options{BusyWait: time.Millisecond})
	var busy *journal.BusyError
	if !errors.As(err, &busy) || busy.Path != p {
		t.Errorf("a second open: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	begin(t, open(t, p, journal.Options{BusyWait: time.Millisecond}), 1)
}

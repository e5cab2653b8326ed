package journal

import (
	"os"
	"testing"
	"time"
)

func TestAlive(t *testing.T) {
	me := self()
	now := time.Unix(1_800_000_000, 0)
	if me.start == 0 || me.boot == "" {
		t.Logf("this system tells no start (%d) or boot (%q)", me.start, me.boot)
	}
	with := func(change func(*process)) process {
		p := me
		change(&p)
		return p
	}
	for _, tt := range []struct {
		name string
		p    process
		seen time.Time
		want bool
	}{
		{"ourselves", me, now.Add(-time.Hour), true},
		{"our pid, given to another since", with(func(p *process) { p.start++ }), now, false},
		{"a pid of the last boot", with(func(p *process) { p.boot = "before" }), now, false},
		{"a pid that nobody has", with(func(p *process) { p.pid = 1 << 30 }), now, false},
		{"another host, heard of lately", with(func(p *process) { p.host += "2" }), now.Add(-silence + 1), true},
		{"another host, silent", with(func(p *process) { p.host += "2" }), now.Add(-silence), false},
		{"another container, heard of lately", with(func(p *process) { p.space += "2" }), now.Add(-silence + 1), true},
		{"another container, silent", with(func(p *process) { p.space += "2" }), now.Add(-silence), false},
	} {
		if got := me.alive(tt.p, tt.seen, now); got != tt.want {
			t.Errorf("%s: alive %v, want %v", tt.name, got, tt.want)
		}
	}
	if _, ok := startOf(os.Getppid()); !ok {
		t.Error("our parent is not seen")
	}
}

// A process that was silent for so long that others may have taken its jobs
// writes no more.
func TestTakenForDead(t *testing.T) {
	c := &clock{time.Unix(1_800_000_000, 0)}
	path := t.TempDir() + "/" + fileName
	j, other := c.open(t, path), c.open(t, path)
	j.me.host = "elsewhere"
	job, err := j.Begin(t.Context(), JobSpec{N: 1})
	if err != nil {
		t.Fatal(err)
	}
	c.now = c.now.Add(silence - 1)
	if _, err := other.Begin(t.Context(), JobSpec{N: 1}); err == nil {
		t.Fatal("the job was taken too early")
	}
	c.now = c.now.Add(1)
	if _, err := other.Begin(t.Context(), JobSpec{N: 1}); err != nil {
		t.Fatal(err)
	}
	if err := job.End(t.Context(), Finished, nil); err == nil {
		t.Error("the silent process wrote on")
	}
}

// A Close that could not be written leaves a job that this process can have again.
func TestCloseUnwritten(t *testing.T) {
	path := t.TempDir() + "/" + fileName
	for range 2 {
		j, err := Open(t.Context(), path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.Begin(t.Context(), JobSpec{N: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := j.w.exec("PRAGMA query_only = ON"); err != nil {
			t.Fatal(err)
		}
		if err := j.Close(); err == nil {
			t.Fatal("nothing could be written and close did not say so")
		}
	}
}

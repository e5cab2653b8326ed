package sched

import (
	"testing"
	"time"
)

// TestKnownDailyCap: a cap that is known is never met. The lane stops at nine
// tenths, says when it reopens, and goes on as its own use leaves the window.
func TestKnownDailyCap(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 10, TokensPerDay: 1_000_000}, 0, 0, 0)
	w.step(&AddStream{})
	w.offer(2500, Call{In: 400, MaxOut: 200, Out: 100})
	w.run(time.Hour)
	if v := w.c.Lane(0); v.DayTokens > 900_000 || v.DayTokens < 890_000 {
		t.Errorf("%d tokens in the first hour, want nine tenths of a million", v.DayTokens)
	}
	v := w.c.Stream(0)
	if !v.AllClosed || v.ClosedFor != Daily || v.Reopens < 24*time.Hour || v.Reopens > 24*time.Hour+2*time.Minute {
		t.Errorf("the stream is %+v", v)
	}
	w.run(30 * time.Hour)
	w.want(Succeeded, 2500)
}

// TestDayUseOfEarlierRuns: what earlier processes used counts, and leaves the
// window when it is a day old.
func TestDayUseOfEarlierRuns(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{
		Org: "a", Pool: "p", Cap: 10, TokensPerDay: 1_000_000,
		DayUse: []DayUse{{Start: -23 * time.Hour, Tokens: 600_000}, {Start: -2 * time.Hour, Tokens: 290_000}, {Start: -30 * time.Hour, Tokens: 900_000}},
	}, 0, 0, 0)
	w.step(&AddStream{})
	w.offer(500, Call{In: 400, MaxOut: 200, Out: 100})
	w.run(50 * time.Minute)
	if n := len(w.settled); n != 20 {
		t.Errorf("%d calls of 500 tokens fitted under 900,000 with 890,000 used", n)
	}
	w.run(75 * time.Minute)
	w.want(Succeeded, 500)
}

// TestLearnedDailyCapIsAsked: a cap learned while others had used most of the
// day is not believed for ever: a call asks every half hour.
func TestLearnedDailyCapIsAsked(t *testing.T) {
	w := newWorld(t, Config{Ramp: RampOff})
	w.lane(LaneConfig{Org: "a", Pool: "p", Cap: 10, HintPerDay: 100_000}, 0, 0, 0)
	w.step(&AddStream{})
	w.offer(1000, Call{In: 400, MaxOut: 200, Out: 100})
	w.run(25 * time.Minute)
	if n := len(w.settled); n < 190 || n > 194 {
		t.Errorf("%d calls of 500 tokens fitted under a learned cap of 100,000", n)
	}
	w.run(time.Hour)
	w.want(Succeeded, 1000)
}

package sched

import (
	"testing"
	"time"
)

// usual are the floors of a lane that nobody configured.
var usual = floors{soft: floor{share: 0.1}, hard: floor{share: 0.02}, sigma: 0.15}

func TestFloorOf(t *testing.T) {
	for _, c := range []struct {
		floor    floor
		capacity float64
		want     float64
	}{
		{floor{share: 0.1}, 2_000_000, 200_000},
		{floor{tokens: 50_000}, 2_000_000, 50_000},
		{floor{share: 0.1, tokens: 50_000}, 2_000_000, 50_000}, // tokens go before the share
		{floor{tokens: 50_000}, 10_000, 9_000},                 // a small bucket must still give something
		{floor{}, 2_000_000, 0},
	} {
		if got := c.floor.of(c.capacity); got != c.want {
			t.Errorf("%+v of %v is %v, want %v", c.floor, c.capacity, got, c.want)
		}
	}
}

// The floors of a lane are the core's, in tokens for the token buckets alone,
// and its own way of standing beside colleagues goes before the core's.
func TestFloorsOfALane(t *testing.T) {
	polite, fair := SharePolite, ShareFair
	c := New(Config{SoftTokens: 30_000, HardTokens: 1_000})
	for i, mode := range []*ShareMode{nil, &polite, &fair} {
		c.Step(time.Duration(i), &AddLane{Lane: LaneConfig{Org: "a", Pool: "p", Group: int32(i), Cap: 10, Share: mode}})
	}
	tokens := floor{share: 0.1, tokens: 30_000}
	hard := floor{share: 0.02, tokens: 1_000}
	for i, want := range []floors{
		{tokens, hard, 0.15},
		{tokens, hard, 0},
		{tokens, floor{}, 0.5},
	} {
		b := &c.lanes[i].b[Input]
		if got := (floors{b.soft, b.hard, b.sigma}); got != want {
			t.Errorf("lane %d: %+v, want %+v", i, got, want)
		}
		if got := c.lanes[i].b[Requests].soft; got != (floor{share: 0.1}) {
			t.Errorf("lane %d: requests have the floor %+v", i, got)
		}
	}
}

package emulator

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"
)

// published is the provider's table as of 2026-11-30 (facts/claude-api.md 6),
// written out again: model, alias, pool, context, maximum output, dollars per
// million tokens in, out, cache write 5 m, cache write 1 h, cache read, batch
// in, batch out, smallest prompt that is cached.
const published = `
claude-fable-5-2,,fable-5.x,1000000,128000,8,40,10,16,0.20,4,20,512
claude-mythos-5-2,,mythos-5.x,1000000,128000,8,40,10,16,0.20,4,20,512
claude-fable-5-1,,fable-5.x,1000000,128000,10,50,12.50,20,0.25,5,25,512
claude-mythos-5-1,,mythos-5.x,1000000,128000,10,50,12.50,20,0.25,5,25,512
claude-fable-5,,fable-5.x,1000000,128000,10,50,12.50,20,1.00,5,25,512
claude-mythos-5,,mythos-5.x,1000000,128000,10,50,12.50,20,1.00,5,25,512
claude-opus-5-5,,opus-5.5,1000000,128000,4,20,5,8,0.20,2,10,512
claude-opus-5,,opus-5,1000000,128000,5,25,6.25,10,0.50,2.50,12.50,512
claude-opus-4-8,,opus-4.x,1000000,128000,5,25,6.25,10,0.50,2.50,12.50,1024
claude-opus-4-7,,opus-4.x,1000000,128000,5,25,6.25,10,0.50,2.50,12.50,2048
claude-opus-4-6,,opus-4.x,1000000,128000,5,25,6.25,10,0.50,2.50,12.50,4096
claude-opus-4-5-20251101,claude-opus-4-5,opus-4.x,200000,64000,5,25,6.25,10,0.50,2.50,12.50,4096
claude-sonnet-5-5,,sonnet-5.5,1000000,128000,2,10,2.50,4,0.10,1,5,512
claude-sonnet-5,,sonnet-5,1000000,128000,2,10,2.50,4,0.20,1,5,1024
claude-sonnet-4-6,,sonnet-4.x,1000000,128000,3,15,3.75,6,0.30,1.50,7.50,1024
claude-sonnet-4-5-20250929,claude-sonnet-4-5,sonnet-4.x,200000,64000,3,15,3.75,6,0.30,1.50,7.50,1024
claude-haiku-5-5,,haiku-5.5,1000000,128000,0.10,0.50,0.125,0.20,0.01,0.05,0.25,512
claude-haiku-4-5-20251001,claude-haiku-4-5,haiku-4.5,200000,64000,1,5,1.25,2,0.10,0.50,2.50,4096
`

// A million tokens of each class cost what the page says, in nano-dollars.
func TestCatalogIsThePublishedTable(t *testing.T) {
	rows := strings.Fields(published)
	active := 0
	for i := range catalog {
		if catalog[i].pool != "" {
			active++
		}
	}
	if active != len(rows) {
		t.Errorf("%d models can be bought, %d are published", active, len(rows))
	}
	for _, row := range rows {
		f := strings.Split(row, ",")
		e, alias := &catalog[models[f[0]]], f[0]
		if f[1] != "" {
			alias = f[1]
		}
		if e.id != f[0] || models[alias] != models[f[0]] || e.alias != f[1] || e.pool != f[2] {
			t.Errorf("%s: id %s, alias %s, pool %s", f[0], e.id, e.alias, e.pool)
		}
		sizes := fmt.Sprint(e.context, ",", e.maxOut, ",", e.minCache)
		if want := fmt.Sprint(f[3], ",", f[4], ",", f[12]); sizes != want {
			t.Errorf("%s: sizes %s, want %s", f[0], sizes, want)
		}
		// Ten thousand tokens stay below every band.
		const n = 10_000
		for i, c := range []struct {
			u Usage
			t terms
		}{
			{Usage{Input: n}, terms{}},
			{Usage{Output: n}, terms{}},
			{Usage{CacheWrite5m: n}, terms{}},
			{Usage{CacheWrite1h: n}, terms{}},
			{Usage{CacheRead: n}, terms{}},
			{Usage{Input: n}, terms{batch: true}},
			{Usage{Output: n}, terms{batch: true}},
		} {
			usd, err := strconv.ParseFloat(f[5+i], 64)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := e.cost(c.u, c.t), int64(usd*1000+0.5)*n; got != want {
				t.Errorf("%s, class %d: %d, want %d", f[0], i, got, want)
			}
		}
	}
}

func TestCostSpecials(t *testing.T) {
	at := func(id string) *entry { return &catalog[models[id]] }
	for _, c := range []struct {
		name string
		e    *entry
		u    Usage
		t    terms
		want int64
	}{
		{"haiku 5.5 up to 100k", at("claude-haiku-5-5"), Usage{Input: 100_000}, terms{}, 100_000 * 100},
		{"haiku 5.5 above 100k", at("claude-haiku-5-5"), Usage{Input: 60_000, CacheRead: 40_001, Output: 10}, terms{}, 60_000*500 + 40_001*50 + 10*2500},
		{"half a nano-dollar rounds up", at("claude-haiku-5-5"), Usage{CacheWrite5m: 1}, terms{batch: true}, 63},
		{"and only once", at("claude-haiku-5-5"), Usage{CacheWrite5m: 2, Input: 1}, terms{batch: true}, 175},
		{"in the US", at("claude-sonnet-4-6"), Usage{Input: 1, Output: 1}, terms{us: true}, 19_800},
		{"in the US, rounded", at("claude-haiku-5-5"), Usage{CacheRead: 3}, terms{us: true, batch: true}, 17},
		{"US before 4.6", at("claude-haiku-4-5"), Usage{Input: 10}, terms{us: true}, 10_000},
		{"fast", at("claude-opus-5"), Usage{Input: 1, Output: 1}, terms{fast: true}, 60_000},
	} {
		if got := c.e.cost(c.u, c.t); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestLifecycle(t *testing.T) {
	at := func(s string) time.Time { return date(s) }
	for _, c := range []struct{ id, day, want string }{
		{"claude-sonnet-4-5", "2026-11-29", "deprecated"},
		{"claude-sonnet-4-5", "2026-11-30", "retired"},
		{"claude-haiku-4-5", "2027-06-01", "active"}, // "not before" is no retirement
		{"claude-opus-4-1", "2026-11-30", "retired"},
		{"claude-opus-4-1", "2026-08-04", "deprecated"},
	} {
		if got := catalog[models[c.id]].lifecycle(at(c.day)); got != c.want {
			t.Errorf("%s on %s: %s, want %s", c.id, c.day, got, c.want)
		}
	}
}

func TestDollars(t *testing.T) {
	for n, want := range map[int64]string{0: "0.000000000", 1: "0.000000001", 123_456_789: "0.123456789", 310_000_000_000: "310.000000000"} {
		if got := dollars(n); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

package lab

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

func totals(records []Record, wall time.Duration) Totals {
	t := Totals{WallS: wall.Seconds()}
	var out int64
	var latencies []float64
	for i := range records {
		r := &records[i]
		n := max(1, r.Rows)
		t.Calls += n
		out += r.Usage.Output
		if r.Retry {
			t.Retries++
		}
		switch {
		case r.OK():
			t.Succeeded += n
			if r.Tier == "" {
				latencies = append(latencies, float64(r.Latency())/1e6)
			}
		case r.Is(wire.Acceleration):
			t.Accelerated++
		case r.Status == 429:
			t.Steady++
		case r.Is(wire.Overloaded):
			t.Overloaded++
		default:
			t.Other++
		}
	}
	if minutes := wall.Minutes(); minutes > 0 {
		t.CallsPerMin, t.OutputPerMin = float64(t.Succeeded)/minutes, float64(out)/minutes
	}
	if t.Calls > 0 {
		all := float64(t.Calls)
		t.AcceleratedShare, t.SteadyShare, t.OverloadedShare = float64(t.Accelerated)/all, float64(t.Steady)/all, float64(t.Overloaded)/all
	}
	slices.Sort(latencies)
	t.P50Ms, t.P95Ms = quantile(latencies, 0.5), quantile(latencies, 0.95)
	return t
}

// aboutEmpty is the share of its fullest at which a bucket counts as empty
// (facts/control.md E.1).
const aboutEmpty = 0.02

// emptied names the buckets whose remaining came to about 0.
func (b *Bench) emptied(records []Record) []string {
	type extent struct{ low, high int64 }
	seen := map[string]extent{}
	for i := range records {
		r := &records[i]
		m, _ := b.env.Model(r.Model)
		for d := wire.Requests; d <= wire.Output; d++ {
			if l := r.Read.Of(d); l != nil {
				key := r.Org + " " + m.Pool + " " + DimName(d)
				e, ok := seen[key]
				if !ok {
					e = extent{l.Remaining, l.Remaining}
				}
				seen[key] = extent{min(e.low, l.Remaining), max(e.high, l.Remaining)}
			}
		}
	}
	var out []string
	for _, key := range sortedKeys(seen) {
		if e := seen[key]; float64(e.low) < aboutEmpty*float64(e.high) {
			out = append(out, key)
		}
	}
	return out
}

// quantile of sorted values, by the nearest rank; 0 of none.
func quantile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := int(math.Ceil(p*float64(len(sorted)))) - 1
	return sorted[min(max(i, 0), len(sorted)-1)]
}

// bill adds the records up; what no finished step has is at the end of the
// account, under Discarded.
func (b *Bench) bill(records []Record) Bill {
	var bill Bill
	done := b.finished()
	for i := range records {
		r := &records[i]
		if r.Cost == 0 {
			continue
		}
		bill.Total += r.Cost
		if r.Step != "" && !done[r.Step] {
			bill.Discarded.Calls++
			bill.Discarded.Sum += r.Cost
		}
		bill.line(r, b.env.table())
	}
	b.mu.Lock()
	bill.InDoubt = b.purse.reserved // nothing is under way any more: what is reserved was never settled
	b.mu.Unlock()
	return bill
}

func (bill *Bill) line(r *Record, table *price.Table) {
	tier := cmp.Or(r.Tier, Sync)
	i := slices.IndexFunc(bill.Lines, func(l BillLine) bool { return l.Org == r.Org && l.Model == r.Model && l.Tier == tier })
	if i < 0 {
		m, _ := table.Lookup(r.Model)
		bill.Lines = append(bill.Lines, BillLine{
			Org: r.Org, Model: r.Model, Tier: tier, InPrice: m.Prices.In.String(), OutPrice: m.Prices.Out.String(), Half: tier == Batch,
		})
		i = len(bill.Lines) - 1
	}
	l := &bill.Lines[i]
	l.Calls += max(1, r.Rows)
	l.Input += r.Usage.Input
	l.CacheWrite += r.Usage.CacheWrite5m + r.Usage.CacheWrite1h
	l.CacheRead += r.Usage.CacheRead
	l.Output += r.Usage.Output
	l.Sum += r.Cost
}

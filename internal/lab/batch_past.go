package lab

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// pastBatch is a batch that somebody sent before, as a list shows it: evidence
// that costs nothing (facts/control.md E.3).
type pastBatch struct {
	Org     string    `json:"org"`
	Rows    int64     `json:"rows"`
	Done    int64     `json:"done"`
	Ahead   int64     `json:"ahead"` // rows of other batches of the org that were open when it was created
	Created time.Time `json:"created_at"`
	Stopped time.Time `json:"stopped_at"` // its end, or when its cancel was asked for
}

// mostPast is how many batches of an org are looked at.
const mostPast = 5000

// pastBatches reads what the lists of all batching orgs show of ended batches.
func (b *Bench) pastBatches(ctx context.Context) ([]pastBatch, error) {
	var all []pastBatch
	for _, o := range b.env.Batching() {
		var list []wire.Batch
		err := b.again(ctx, func() error {
			list = nil
			return b.ListBatches(ctx, o.Name, func(x wire.Batch) bool {
				if _, ours := b.made(x.ID); !ours {
					list = append(list, x)
				}
				return len(list) < mostPast
			})
		})
		if err != nil {
			return nil, err
		}
		all = append(all, pastOf(o.Name, list)...)
	}
	return all, nil
}

// pastOf keeps the ended ones of an org's batches, newest first.
func pastOf(org string, list []wire.Batch) []pastBatch {
	var out []pastBatch
	for i := range list {
		x := &list[i]
		if x.Status != wire.BatchEnded || x.EndedAt.Before(x.CreatedAt) || x.CreatedAt.IsZero() {
			continue
		}
		p := pastBatch{Org: org, Rows: x.Rows(), Done: x.Succeeded + x.Errored, Created: x.CreatedAt, Stopped: x.EndedAt}
		if x.Canceled > 0 && x.CancelInitiatedAt.After(x.CreatedAt) && x.CancelInitiatedAt.Before(x.EndedAt) {
			p.Stopped = x.CancelInitiatedAt
		}
		for j := range list {
			if o := &list[j]; j != i && !o.CreatedAt.After(x.CreatedAt) && (o.EndedAt.IsZero() || o.EndedAt.After(x.CreatedAt)) {
				p.Ahead += o.Rows()
			}
		}
		out = append(out, p)
	}
	return out
}

// log is the logarithm of its rate after the overhead.
func (p *pastBatch) log(overhead time.Duration) float64 {
	took := p.Stopped.Sub(p.Created).Seconds()
	return math.Log(max(float64(p.Done), 0.5) / max(took-overhead.Seconds(), leastSpan*took, 1))
}

// Classes of past batches; what lies between tells nothing.
const (
	smallRows  = 1000 // at most
	largeRows  = 7000 // at least
	shallow    = 1500 // rows ahead, at most
	deep       = 6500 // with its own rows, at least
	hoursAPart = 3    // stretches of the day that are compared
)

// pastEvidence tells the three effects as far as past batches do: each by pairs
// that differ in nothing else. An effect with N 0 was not told.
func pastEvidence(past []pastBatch, overhead time.Duration) (depth, size, hour effect) {
	type stratum struct {
		part int
		kind int // of depth or size
	}
	logs := map[string]map[stratum][]float64{"depth": {}, "size": {}}
	idle := map[int][]float64{}
	for i := range past {
		p := &past[i]
		if p.Rows < 20 {
			continue // overhead alone
		}
		v, part := p.log(overhead), p.Created.UTC().Hour()/hoursAPart
		isDeep, isShallow := p.Ahead+p.Rows >= deep, p.Ahead+p.Rows <= shallow+smallRows
		if p.Rows <= smallRows && (isDeep || isShallow) {
			logs["depth"][stratum{part, pick(isDeep)}] = append(logs["depth"][stratum{part, pick(isDeep)}], v)
		}
		if isDeep && (p.Rows <= smallRows || p.Rows >= largeRows) {
			s := stratum{part, pick(p.Rows >= largeRows)}
			logs["size"][s] = append(logs["size"][s], v)
		}
		if p.Rows <= smallRows && isShallow {
			idle[part] = append(idle[part], v)
		}
	}
	compare := func(of map[stratum][]float64) effect {
		var diffs []float64
		for part := range 24 / hoursAPart {
			low, high := of[stratum{part, 0}], of[stratum{part, 1}]
			if len(low) > 0 && len(high) > 0 {
				diffs = append(diffs, middle(low)-middle(high))
			}
		}
		if len(diffs) == 0 {
			return effect{}
		}
		return meanEffect(diffs)
	}
	return compare(logs["depth"]), compare(logs["size"]), pastHours(idle)
}

func pick(second bool) int {
	if second {
		return 1
	}
	return 0
}

// pastHours is the range over the parts of the day that have three batches.
func pastHours(idle map[int][]float64) effect {
	var middles []float64
	for _, logs := range idle {
		if len(logs) >= 3 {
			middles = append(middles, middle(logs))
		}
	}
	if len(middles) < 2 {
		return effect{}
	}
	return effect{Log: slices.Max(middles) - slices.Min(middles), SE: leastSD, N: len(middles)}
}

// middle is the median.
func middle(of []float64) float64 {
	sorted := slices.Sorted(slices.Values(of))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

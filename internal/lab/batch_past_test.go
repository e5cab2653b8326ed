package lab

import (
	"math"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// history makes a list, newest first, of batches that ended at a rate.
type history []wire.Batch

func (h *history) add(at time.Time, rows int64, rate float64) {
	b := wire.Batch{
		Status: wire.BatchEnded, CreatedAt: at, EndedAt: at.Add(time.Minute + time.Duration(float64(rows)/rate*float64(time.Second))), Succeeded: rows,
	}
	*h = append(history{b}, *h...)
}

// Past batches tell effects by pairs that differ in one thing alone.
func TestPastEvidence(t *testing.T) {
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name              string
		rate              func(rows int64, deep bool, hour int) float64
		depth, size, hour bool
	}{
		{"nothing", func(int64, bool, int) float64 { return 2 }, false, false, false},
		{"depth", func(_ int64, deep bool, _ int) float64 { return pickRate(deep) }, true, false, false},
		{"size", func(rows int64, _ bool, _ int) float64 { return pickRate(rows > 3000) }, false, true, false},
		{"hour", func(_ int64, _ bool, hour int) float64 { return pickRate(hour >= 9 && hour < 19) }, false, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var h history
			for d := range 12 {
				for _, hour := range []int{1, 10, 13, 22} {
					at := day.AddDate(0, 0, 3*d).Add(time.Duration(hour) * time.Hour)
					h.add(at, 500, c.rate(500, false, hour))
					at = at.AddDate(0, 0, 1)
					h.add(at, 8000, c.rate(8000, true, hour))
					h.add(at.Add(time.Minute), 500, c.rate(500, true, hour))
				}
			}
			depth, size, hour := pastEvidence(pastOf("x", h), time.Minute)
			if depth.there() != c.depth || size.there() != c.size || hour.there() != c.hour {
				t.Errorf("depth %+v, size %+v, hour %+v", depth, size, hour)
			}
			if depth.N == 0 || size.N == 0 || hour.N == 0 {
				t.Error("an effect was not told")
			}
		})
	}
}

func pickRate(slow bool) float64 { return math.Pow(0.1, float64(pick(slow))) * 2 }

// Evidence that differs in two things at once tells nothing.
func TestPastEvidenceIsConfounded(t *testing.T) {
	var h history
	at := time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)
	for d := range 10 {
		h.add(at.AddDate(0, 0, 2*d), 8000, 0.1)
		h.add(at.AddDate(0, 0, 2*d).Add(14*time.Hour), 500, 2)
	}
	depth, size, hour := pastEvidence(pastOf("x", h), time.Minute)
	if depth.N+size.N+hour.N != 0 {
		t.Errorf("depth %+v, size %+v, hour %+v", depth, size, hour)
	}
}

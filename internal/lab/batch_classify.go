package lab

import (
	"math"
	"slices"
	"strings"
	"time"
)

// cellSeen is what one cell showed.
type cellSeen struct {
	Hour int       `json:"hour"`
	Day  int       `json:"day"`
	Lots []outcome `json:"lots"`
}

// threshold is the effect, as a logarithm of rates, from which on a mechanism is
// taken to be there (facts/control.md E.3).
var threshold = math.Log(2.5)

// effect is a difference of logarithms of rates.
type effect struct {
	Log float64 `json:"log"`
	SE  float64 `json:"standard_error"`
	N   int     `json:"n"` // cells behind it
}

func (e effect) there() bool { return e.N > 0 && e.Log > threshold }

// sure is how likely it is, by the normal distribution, that the effect lies on
// the side of the threshold on which it was found.
func (e effect) sure() float64 {
	if e.N == 0 {
		return 0.5
	}
	return 0.5 * math.Erfc(-math.Abs(e.Log-threshold)/e.SE/math.Sqrt2)
}

// leastSD is the spread that a cell is taken to have at least: two that happen
// to agree do not make an effect certain.
const leastSD = 0.25

func meanEffect(diffs []float64) effect {
	mean, sd := meanSD(diffs)
	return effect{Log: mean, SE: max(sd, leastSD) / math.Sqrt(float64(len(diffs))), N: len(diffs)}
}

func meanSD(of []float64) (mean, sd float64) {
	for _, v := range of {
		mean += v / float64(len(of))
	}
	for _, v := range of {
		sd += (v - mean) * (v - mean)
	}
	if len(of) > 1 {
		sd = math.Sqrt(sd / float64(len(of)-1))
	}
	return mean, sd
}

// mechanism is which of depth, size and hour starves batches.
type mechanism struct {
	Class      string        `json:"class"` // depth, size, hour, depth+hour, size+hour …, none
	Confidence float64       `json:"confidence"`
	Depth      effect        `json:"depth"`
	Size       effect        `json:"size"`
	Hour       effect        `json:"hour"`
	Overhead   time.Duration `json:"overhead_ns"`
	Probes     int           `json:"overhead_n"` // batches of one row behind it; 0: assumed
	Fast       []int         `json:"fast_hours"` // depth and size were told in these
}

// quickLots is how many of arm B tell how fast it was: fewer than are processed
// at once, wherever that is known.
const quickLots = 4

// classify tells which mechanisms are there, from rates on a logarithmic scale:
// size from one large batch beside many small ones of the same depth, depth from
// a canary behind a large batch beside canaries on an idle org, hour from idle
// canaries. Size and depth are told in hours only in which idle canaries are
// fast (facts/control.md E.3).
func classify(cells []cellSeen) mechanism {
	var all []outcome
	for i := range cells {
		all = append(all, cells[i].Lots...)
	}
	var m mechanism
	m.Overhead, m.Probes = overheadOf(all)
	m.Hour, m.Fast = hourEffect(cells, m.Overhead)
	var depth, size []float64
	for i := range cells {
		if !slices.Contains(m.Fast, cells[i].Hour) {
			continue
		}
		rate := func(lots []outcome) float64 { return logRate(lots, m.Overhead) }
		arm := func(word string) []outcome { return named(cells[i].Lots, word) }
		if a, b := arm(armBehind), arm(armIdle); len(a) > 0 && len(b) > 0 {
			depth = append(depth, rate(b)-rate(a))
		}
		if a, b := arm(armBig), quickest(arm(armMany), quickLots, m.Overhead); len(a) > 0 && len(b) > 0 {
			size = append(size, rate(b)-rate(a))
		}
	}
	m.Depth, m.Size = meanEffect(depth), meanEffect(size)
	m.Class, m.Confidence = m.class()
	return m
}

// class names the effects that are there; its confidence is that all three lie
// where they were found.
func (m *mechanism) class() (string, float64) {
	var names []string
	sure := 1.0
	for _, e := range []struct {
		name string
		effect
	}{{"depth", m.Depth}, {"size", m.Size}, {"hour", m.Hour}} {
		sure *= e.sure()
		if e.there() {
			names = append(names, e.name)
		}
	}
	if len(names) == 0 {
		return "none", sure
	}
	return strings.Join(names, "+"), sure
}

// hourEffect is the range of idle canaries' rates over the hours; fast are the
// hours that are near the fastest.
func hourEffect(cells []cellSeen, overhead time.Duration) (e effect, fast []int) {
	byHour := map[int][]outcome{}
	var spread []float64
	for i := range cells {
		idle := named(cells[i].Lots, armIdle)
		byHour[cells[i].Hour] = append(byHour[cells[i].Hour], idle...)
	}
	lowest, highest := math.Inf(1), math.Inf(-1)
	for _, lots := range byHour {
		if len(lots) == 0 {
			continue
		}
		v := logRate(lots, overhead)
		lowest, highest = min(lowest, v), max(highest, v)
		e.N++
	}
	for i := range cells {
		idle := named(cells[i].Lots, armIdle)
		if lots := byHour[cells[i].Hour]; len(idle) > 0 {
			spread = append(spread, logRate(idle, overhead)-logRate(lots, overhead))
		}
	}
	for h, lots := range byHour {
		if len(lots) > 0 && logRate(lots, overhead) > highest-threshold {
			fast = append(fast, h)
		}
	}
	slices.Sort(fast)
	_, sd := meanSD(spread)
	e.Log, e.SE = highest-lowest, max(sd, leastSD)*math.Sqrt(2*float64(e.N)/float64(max(1, len(spread))))
	if e.N < 2 {
		e = effect{}
	}
	return e, fast
}

package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/judge"
	"github.com/flotilla-llm/flotilla/price"
)

// tierChoice is what --tier says.
type tierChoice uint8

const (
	tierAuto tierChoice = iota
	tierSync
	tierBatch
)

// Names of the tiers, as results and reports have them.
const (
	tierNameSync  = "sync"
	tierNameBatch = "batch"
)

var tierNames = []string{"auto", tierNameSync, tierNameBatch}

// order is the order of lines in OUT.
type order uint8

const (
	orderCompletion order = iota
	orderInput
)

// choice reads one of a few words.
func choice[T any](what string, words []string, values []T) func(string) (T, error) {
	return func(text string) (v T, err error) {
		i := slices.Index(words, text)
		if i < 0 {
			return v, fmt.Errorf("%q is no %s: %s", text, what, orList(words))
		}
		return values[i], nil
	}
}

// orList is "a, b or c".
func orList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

var (
	parseTier   = choice("tier", tierNames, []tierChoice{tierAuto, tierSync, tierBatch})
	parsePrefer = choice("preference", []string{"fast", "balanced", "cheap"}, []flotilla.Prefer{flotilla.Fast, flotilla.Balanced, flotilla.Cheap})
	parseOrder  = choice("order", []string{"completion", "input"}, []order{orderCompletion, orderInput})
	parseStream = choice("way to stream", []string{"auto", "on", "off"}, []flotilla.StreamMode{flotilla.StreamAuto, flotilla.StreamOn, flotilla.StreamOff})
	parseOnOff  = choice("switch", []string{"on", "off"}, []bool{true, false})
)

// retryKinds are the results that --retry may send again (interface.md, "Output").
var retryKinds = []string{"errored", "expired", "canceled", "truncated", "refused"}

// judgeRetryKinds are those of judge.
var judgeRetryKinds = append(slices.Clone(retryKinds), judge.Unparsable)

func parseRetry(of []string) func(text string) ([]string, error) {
	return func(text string) ([]string, error) {
		kinds := strings.Split(text, ",")
		for i, k := range kinds {
			kinds[i] = strings.TrimSpace(k)
			if !slices.Contains(of, kinds[i]) {
				return nil, fmt.Errorf("%q is nothing to retry: %s", kinds[i], orList(of))
			}
		}
		return kinds, nil
	}
}

// atLeast reads a whole number with a lower bound.
func atLeast(least int) func(string) (int, error) {
	return func(text string) (int, error) {
		n, err := strconv.Atoi(text)
		switch {
		case err != nil:
			return 0, fmt.Errorf("%q is no whole number", text)
		case n < least:
			return 0, fmt.Errorf("%d is below %d", n, least)
		}
		return n, nil
	}
}

// outTokens is how long answers are expected to be; zero: learn it.
type outTokens struct{ mean, p95 int }

func parseOutTokens(text string) (o outTokens, err error) {
	mean, p95, two := strings.Cut(text, ",")
	if o.mean, err = atLeast(1)(mean); err != nil || !two {
		return o, err
	}
	if o.p95, err = atLeast(1)(p95); err == nil && o.p95 < o.mean {
		err = fmt.Errorf("a P95 of %d is below the mean of %d", o.p95, o.mean)
	}
	return o, err
}

// parseConc reads "sonnet=80,haiku=60".
func parseConc(text string) (map[string]int, error) {
	conc := map[string]int{}
	for part := range strings.SplitSeq(text, ",") {
		family, number, ok := strings.Cut(strings.TrimSpace(part), "=")
		if !ok {
			return nil, fmt.Errorf("%q is not FAMILY=N", part)
		}
		family = strings.ToLower(family)
		if known := families(); !slices.Contains(known, family) {
			return nil, fmt.Errorf("%q is no family: %s", family, orList(known))
		}
		n, err := parseCap(number)
		if err != nil {
			return nil, err
		}
		conc[family] = n
	}
	return conc, nil
}

// families are those of the price table, and that of all other names.
func families() []string {
	var known []string
	for _, m := range price.Published().Models() {
		if f := m.Family(); !slices.Contains(known, f) {
			known = append(known, f)
		}
	}
	if other := price.FamilyOf(""); !slices.Contains(known, other) {
		known = append(known, other)
	}
	return known
}

// parseSpan reads a time above 0: Go's spelling, with days besides.
func parseSpan(text string) (time.Duration, error) {
	var days float64
	rest := text
	if head, tail, ok := strings.Cut(text, "d"); ok {
		v, err := strconv.ParseFloat(head, 64)
		if err != nil || !(v >= 0 && v <= 36500) {
			return 0, errNoSpan(text)
		}
		days, rest = v, tail
	}
	d := time.Duration(days * float64(24*time.Hour))
	if rest != "" {
		more, err := time.ParseDuration(rest)
		if err != nil {
			return 0, errNoSpan(text)
		}
		d += more
	}
	if d <= 0 {
		return 0, errNoSpan(text)
	}
	return d, nil
}

func errNoSpan(text string) error {
	return fmt.Errorf("%q is no time above 0 such as 90s, 14h or 30d", text)
}

// spendCaps are caps on money; 0: none.
type spendCaps struct{ job, day flotilla.Money }

func (c *spendCaps) merge(d spendCaps) {
	if d.job > 0 {
		c.job = d.job
	}
	if d.day > 0 {
		c.day = d.day
	}
}

// parseSpend reads "40" or "40/day".
func parseSpend(text string) (c spendCaps, err error) {
	amount, day := strings.CutSuffix(text, "/day")
	usd, err := price.Parse(amount)
	switch {
	case err != nil:
		return c, fmt.Errorf("%q is no amount of dollars such as 40 or 40/day", text)
	case usd < 0:
		return c, fmt.Errorf("a cap of %s is negative", usd)
	case usd == 0:
		return c, errors.New("a cap of 0 lets nothing be sent: -n shows what a job would cost")
	case day:
		c.day = usd
	default:
		c.job = usd
	}
	return c, nil
}

// parsePrices reads "in=3,out=15", dollars per million tokens; write_5m,
// write_1h and read may follow.
func parsePrices(text string) (p price.Prices, err error) {
	fields := map[string]*price.Rate{"in": &p.In, "out": &p.Out, "write_5m": &p.Write5m, "write_1h": &p.Write1h, "read": &p.Read}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		to := fields[name]
		if to == nil || seen[name] {
			return p, fmt.Errorf("%q: prices are spelled in=3,out=15", part)
		}
		if *to, err = price.ParseRate(value); err != nil {
			return p, err
		}
		seen[name] = true
	}
	if !seen["in"] || !seen["out"] {
		return p, errors.New("both in and out are needed, as in in=3,out=15")
	}
	// What a cache costs follows the input price (facts/claude-api.md 6), and a
	// bound on money must not be too low.
	fill(&p.Write5m, seen["write_5m"], p.In, 125)
	fill(&p.Write1h, seen["write_1h"], p.In, 200)
	fill(&p.Read, seen["read"], p.In, 10)
	return p, nil
}

func fill(to *price.Rate, given bool, in price.Rate, percent price.Rate) {
	if !given {
		*to = (in*percent + 99) / 100
	}
}

// parseRetryBudget reads "20" or "20,0.1".
func parseRetryBudget(text string) (r flotilla.Retry, err error) {
	perMin, perSuccess, two := strings.Cut(text, ",")
	if r.BudgetPerMin, err = parseBudget(strings.TrimSpace(perMin)); err != nil || !two {
		return r, err
	}
	r.BudgetPerSucc, err = parseBudget(strings.TrimSpace(perSuccess))
	return r, err
}

// deadline is when sending ends; the zero deadline is none.
type deadline struct {
	in           time.Duration // from the start of this invocation
	hour, minute int           // the next time the clock shows it, when clock
	clock        bool
	at           time.Time
}

func parseDeadline(text string) (deadline, error) {
	var d deadline
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		d.at = t
		return d, nil
	}
	if t, err := time.Parse("15:04", text); err == nil {
		d.clock, d.hour, d.minute = true, t.Hour(), t.Minute()
		return d, nil
	}
	in, err := parseSpan(text)
	if err != nil {
		return d, fmt.Errorf("%q is no deadline such as 14h, 08:00 or 2026-12-01T08:00:00+01:00", text)
	}
	d.in = in
	return d, nil
}

// from is the deadline as wall-clock time, for a run that starts now; zero:
// there is none. A moment in the past is one too: a script that is run again
// after its fixed deadline ends as it did at it.
func (d deadline) from(now time.Time) time.Time {
	switch {
	case d.in > 0:
		return now.Add(d.in)
	case d.clock:
		t := time.Date(now.Year(), now.Month(), now.Day(), d.hour, d.minute, 0, 0, now.Location())
		if !t.After(now) {
			// By date, not by 24 h: a clock may be set in between.
			t = time.Date(now.Year(), now.Month(), now.Day()+1, d.hour, d.minute, 0, 0, now.Location())
		}
		return t
	}
	return d.at
}

// round keeps a number of calls a minute to what is worth reading.
func round(v float64) float64 {
	if v >= 100 {
		return math.Round(v/10) * 10
	}
	return math.Round(v)
}

package lab

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// verdict says what the cells showed, in a sentence.
func (m *mechanism) verdict() string {
	if m.Class == "none" {
		return fmt.Sprintf("Nothing starves batches: neither 8,000 rows in a queue or a batch nor the hour slows them by more than 2.5 (at most %.1f)",
			math.Exp(max(m.Depth.Log, m.Size.Log, m.Hour.Log, 0)))
	}
	var parts []string
	if m.Depth.there() {
		parts = append(parts, "many rows in an org's queue slow all of its batches "+times(m.Depth))
	}
	if m.Size.there() {
		parts = append(parts, "many rows in one batch slow that batch "+times(m.Size))
	}
	if m.Hour.there() {
		parts = append(parts, fmt.Sprintf("the hour slows all batches %s (fast: %s UTC)", times(m.Hour), hours(m.Fast)))
	}
	s := strings.Join(parts, ", and ")
	return strings.ToUpper(s[:1]) + s[1:]
}

// times is an effect in words; from a factor of 100 on nothing was seen to
// proceed.
func times(f effect) string {
	if v := math.Exp(f.Log); v < 100 {
		return fmt.Sprintf("%.1f times", v)
	}
	return "to a standstill"
}

func hours(of []int) string {
	var s []string
	for _, h := range of {
		s = append(s, fmt.Sprintf("%02d", h))
	}
	return strings.Join(s, ", ")
}

// starver is the limit that a mechanism amounts to.
func starver(m *mechanism) string {
	if m.Depth.there() {
		return "batch_queue"
	}
	return "work"
}

func (m *mechanism) signs() []string {
	var signs []string
	if m.Depth.there() {
		signs = append(signs, fmt.Sprintf("a canary behind 8,000 rows is slower than one on an idle org, %s", times(m.Depth)))
	}
	if m.Size.there() {
		signs = append(signs, fmt.Sprintf("one batch of 8,000 is slower than batches of 500 at the same depth, %s", times(m.Size)))
	}
	if m.Hour.there() {
		signs = append(signs, fmt.Sprintf("idle canaries are slower at some hours than at others, %s", times(m.Hour)))
	}
	return signs
}

// byDay classifies each day alone; empty: it has not all hours.
func byDay(shown []cellSeen) (first, second string) {
	var classes [days]string
	for day := range days {
		some := slices.DeleteFunc(slices.Clone(shown), func(c cellSeen) bool { return c.Day != day })
		if len(some) == len(cellHours) {
			m := classify(some)
			classes[day] = m.Class
		}
	}
	return classes[0], classes[1]
}

// cellSeries are the rates of the arms by hour.
func cellSeries(model string, shown []cellSeen, m *mechanism) []Series {
	var all []Series
	for _, arm := range []struct{ word, name string }{
		{armIdle, "200 rows on an idle org"},
		{armBehind, "200 rows behind 8,000"},
		{armMany, "16 batches of 500"},
		{armBig, "one batch of 8,000"},
	} {
		s := Series{Name: arm.name, Model: model, X: "hour of the day (UTC)", Y: "rows a second of one batch"}
		for i := range shown {
			lots := named(shown[i].Lots, arm.word)
			if arm.word == armMany {
				lots = quickest(lots, quickLots, m.Overhead)
			}
			if len(lots) > 0 {
				s.Points = append(s.Points, []float64{float64(shown[i].Hour), pooledRate(lots, m.Overhead)})
			}
		}
		all = append(all, s)
	}
	return all
}

// beyond looks for thresholds that 8,000 rows do not reach: one batch of 30,000
// and a canary behind it, at an hour that is fast.
func (x batchMechanism) beyond(ctx context.Context, b *Bench, orgs []string, m *mechanism, r *Result) error {
	org := b.env.roomiest()
	if b.env.mayQueue(org) < beyondRows+canaryRows || len(m.Fast) == 0 {
		r.NotShown = append(r.NotShown, "thresholds above 8,000 rows: no queue has room for 30,000")
		return nil
	}
	d := b.desk()
	at := nextHour(d.now(), m.Fast[0])
	for _, h := range m.Fast {
		if next := nextHour(d.now(), h); next.Before(at) {
			at = next
		}
	}
	lots := big(org.Name)
	lots[0].Rows = beyondRows
	s, err := b.roundAt(ctx, at, round{Name: "beyond 8,000", Lots: lots})
	if err != nil {
		if isBudget(err) {
			r.NotShown = append(r.NotShown, "thresholds above 8,000 rows: the reserve for 30,000 would pass --max-spend")
			return nil
		}
		return err
	}
	x.addBeyond(&s, m, r)
	return nil
}

// roundAt is round that begins at a time, unless it was begun before.
func (b *Bench) roundAt(ctx context.Context, at time.Time, r round) (seen, error) {
	if _, begun, err := b.desk().kept("began " + r.Name); err != nil {
		return seen{}, err
	} else if !begun {
		if err := b.desk().until(ctx, at); err != nil {
			return seen{}, err
		}
	}
	return b.round(ctx, r)
}

func (batchMechanism) addBeyond(s *seen, m *mechanism, r *Result) {
	base, ok := r.Metric("batch_row_rate", "", "")
	if !ok {
		return
	}
	slower := func(word string) effect {
		return effect{Log: math.Log(base.Value) - logRate(s.of(word), m.Overhead), SE: leastSD, N: 1}
	}
	big, behind := slower(armBig), slower(armBehind)
	r.addEffect("batch_effect_beyond_big", base.Model, big, "")
	r.addEffect("batch_effect_beyond_behind", base.Model, behind, "")
	switch {
	case behind.there():
		r.Verdict += "; but 30,000 rows in a queue slow a batch behind them " + times(behind)
	case big.there():
		r.Verdict += "; but a batch of 30,000 is slow itself, " + times(big)
	case m.Class == "none":
		r.Verdict += "; nor do 30,000"
	default: // the hour does, in whose fast part these were sent
		r.Verdict += "; at a fast hour neither a batch of 30,000 rows nor one behind it is slow"
	}
	r.Confidence *= min(big.sure(), behind.sure())
}

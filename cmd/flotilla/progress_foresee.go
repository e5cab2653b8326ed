package main

import (
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// trustAfter is how long rates must have been seen before anything is
// foretold from them: until then a job opens up.
const trustAfter = 30 * time.Second

// capNear is the share of a cap on money from which people are told.
const capNear = 0.9

// foresee tells, once each, what will go wrong if nothing changes.
func (p *progress) foresee() {
	s := p.last
	if s == nil || s.counts.done == s.counts.rows {
		return
	}
	for i := range s.lanes {
		if s.lanes[i].Tier != tierNameBatch {
			p.unanswered(&s.lanes[i])
		}
	}
	if s.cap > 0 && float64(s.counts.spent) >= capNear*float64(s.cap) {
		p.once("cap_near", fmt.Sprintf("%.0f %% of the cap is spent: %s; %s rows pending",
			100*float64(s.counts.spent)/float64(s.cap), s.money(), whole(s.counts.rows-s.counts.done)))
	}
	if _, _, minutes := p.meter.span(); minutes < trustAfter.Minutes() || p.w.deadline.IsZero() {
		return
	}
	if s.eta.After(p.w.deadline) {
		p.once("deadline_at_risk", fmt.Sprintf("the deadline %s is at risk: at this rate the last row ends %s",
			clockTime(p.w.deadline, s.at), clockTime(s.eta, s.at)))
	}
}

// unansweredAfter is how many calls without any answer of the API are no
// accident.
const unansweredAfter = 3

// unanswered tells of a lane on which nothing but redirects, pages and broken
// connections came back: most often the base URL leads elsewhere.
func (p *progress) unanswered(l *flotilla.LaneState) {
	ended := l.Sent - int64(l.InFlight)
	if l.Closed || ended < unansweredAfter || l.Succeeded+l.RateLimited+l.Overloaded > 0 {
		return
	}
	p.once("unanswered "+l.Org, fmt.Sprintf("%s: no answer of the API in %d calls, but 5xx, other pages or broken connections; is the base URL right?", title(l.Org), ended))
}

func (p *progress) once(kind, text string) {
	if p.warned[kind] {
		return
	}
	p.warned[kind] = true
	p.view.event(&event{at: p.last.at, kind: kind, text: text})
}

// slower says what a colleague's use will do to the job, where the rate that is
// left for us is below the one we have (interface.md, "Texts").
func (p *progress) slower(n *flotilla.Notice) string {
	s := p.last
	if s == nil || s.counts.calls == 0 {
		return ""
	}
	for i := range s.lanes {
		l := &s.lanes[i]
		if keyOf(l) != syncLane(n) {
			continue
		}
		ours := p.meter.lane(keyOf(l))
		left := (1 - n.Value) * perMinuteOf(n.Limit, l) / perCall(n.Limit, &s.counts)
		if ours <= 0 || left <= 0 || left >= ours {
			return ""
		}
		text := fmt.Sprintf("; we go %s → %s/min", whole(int(round(ours))), whole(int(round(left))))
		if all := s.rates.calls; !s.eta.IsZero() && all > ours-left {
			then := s.at.Add(time.Duration(float64(s.eta.Sub(s.at)) * all / (all - ours + left)))
			if a, b := clockTime(s.eta, s.at), clockTime(then, s.at); a != b {
				text += fmt.Sprintf("; ETA %s → %s", a, b)
			}
		}
		return text
	}
	return ""
}

func perMinuteOf(limit string, l *flotilla.LaneState) float64 {
	switch limit {
	case "itpm":
		return l.Limits.Input
	case "otpm":
		return l.Limits.Output
	}
	return l.Limits.Requests
}

// perCall is what a call of this job takes of a limit, on average.
func perCall(limit string, c *counts) float64 {
	switch limit {
	case "itpm":
		return max(float64(c.in)/float64(c.calls), 1)
	case "otpm":
		return max(float64(c.out)/float64(c.calls), 1)
	}
	return 1
}

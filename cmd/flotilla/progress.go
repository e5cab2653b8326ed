package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// progressMode is how a run shows how far it is.
type progressMode uint8

const (
	progressAuto progressMode = iota
	progressTTY
	progressPlain
	progressJSON
	progressNone
)

var parseProgress = choice("progress", []string{"auto", "tty", "plain", "json", "none"},
	[]progressMode{progressAuto, progressTTY, progressPlain, progressJSON, progressNone})

// Intervals of plain progress (interface.md, "Starting, running, ending"), and
// of the live block. They are real time: people read in it.
const (
	plainFirst = 5 * time.Second
	plainLater = time.Minute
	liveEvery  = 500 * time.Millisecond
)

// view shows a job's standing and what happens to it. Calls do not overlap.
type view interface {
	show(*standing)
	event(*event)
	// end leaves the output fit for what follows. The last standing was shown.
	end()
}

// event is something that people should know at once.
type event struct {
	at    time.Time
	kind  string
	text  string
	org   string
	pool  string
	class string
	limit string
	value float64
	until time.Time
	batch string // the provider's id
	took  time.Duration
}

// watched is what progress looks at.
type watched struct {
	job      string
	cap      flotilla.Money // on the job; 0: none
	deadline time.Time      // zero: none
	counts   func() counts
	snapshot func(context.Context) (flotilla.Snapshot, error)
}

// progress looks at a running job from time to time and shows it.
type progress struct {
	w     watched
	view  view
	live  bool // redrawn often
	meter meter

	mu    sync.Mutex
	queue []flotilla.Notice
	own   []event       // not the fleet's
	ready chan struct{} // holds one token while queue or own is not empty

	gathered  gathered
	each      bool   // programs are told of each event
	why       string // that the job stopped with rows left; empty: not known
	last      *standing
	began     flotilla.Snapshot     // the first look: what earlier jobs of this fleet did
	beganDone int                   // rows that were done then
	warned    map[string]bool       // what is said once
	colleague map[laneKey]time.Time // when a lane's colleagues were last told of
	stop      context.CancelFunc
	finished  chan struct{}
}

// newProgress makes progress that shows nothing before start. Its notify may
// be given to a fleet at once.
func newProgress(v view, live bool) *progress {
	_, each := v.(*jsonView)
	return &progress{view: v, live: live, each: each, gathered: gathered{said: map[string]bool{}}, ready: make(chan struct{}, 1), warned: map[string]bool{}, colleague: map[laneKey]time.Time{}, finished: make(chan struct{})}
}

// newView picks how to show progress; out is where results do not go.
func newView(mode progressMode, w io.Writer, t *terminal, color bool) (v view, live bool) {
	if mode == progressAuto {
		mode = progressPlain
		if t != nil {
			mode = progressTTY
		}
	}
	switch mode {
	case progressTTY:
		return newLiveView(w, t, color), true
	case progressJSON:
		return &jsonView{w: w}, false
	case progressNone:
		return silentView{}, false
	}
	return &plainView{w: w}, false
}

// notify takes a notice from the fleet's loop. It never blocks.
func (p *progress) notify(n flotilla.Notice) {
	p.mu.Lock()
	p.queue = append(p.queue, n)
	p.mu.Unlock()
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

// say shows an event of our own.
func (p *progress) say(kind, text string) {
	p.mu.Lock()
	p.own = append(p.own, event{kind: kind, text: text})
	p.mu.Unlock()
	select {
	case p.ready <- struct{}{}:
	default:
	}
}

func (p *progress) take() []flotilla.Notice {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queue
	p.queue = nil
	return q
}

// start begins to look at a job until end.
func (p *progress) start(w watched) {
	p.w = w
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go p.run(ctx)
}

// stopped says why the job stopped with rows left. It goes before end.
func (p *progress) stopped(why string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.why = why
}

// end shows how the job stands at last and says no more.
func (p *progress) end() {
	if p.stop == nil {
		return
	}
	p.stop()
	<-p.finished
}

// run is progress's goroutine: the view is used by it alone.
func (p *progress) run(ctx context.Context) {
	defer close(p.finished)
	began := time.Now()
	p.look(ctx)
	tick := time.NewTicker(liveEvery)
	defer tick.Stop()
	shown := began
	for {
		select {
		case <-ctx.Done():
			p.events()
			p.gathered.give(time.Now(), p.view.event)
			p.look(context.Background())
			if p.last != nil {
				p.mu.Lock()
				p.last.limit = cmp.Or(p.why, p.last.limit)
				p.last.eta = time.Time{} // nothing of this run goes on
				p.mu.Unlock()
				p.view.show(p.last)
			}
			p.view.end()
			return
		case <-p.ready:
			p.events()
		case now := <-tick.C:
			p.look(ctx)
			p.foresee()
			if now.Sub(p.gathered.at) >= interval(now.Sub(began)) {
				p.gathered.give(now, p.view.event)
			}
			if p.last != nil && (p.live || now.Sub(shown) >= interval(shown.Sub(began))) {
				shown = now
				p.view.show(p.last)
			}
		}
	}
}

// interval is how long plain progress is silent after it has spoken.
func interval(age time.Duration) time.Duration {
	if age < time.Minute {
		return plainFirst
	}
	return plainLater
}

// lookTimeout bounds a look: a fleet that is closing answers none.
const lookTimeout = 2 * time.Second

// look reads how the job stands.
func (p *progress) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	c := p.w.counts()
	s, err := p.w.snapshot(ctx)
	if err != nil {
		if p.last == nil {
			return
		}
		// The fleet is gone; what was counted stands.
		p.last.counts = c
		return
	}
	if p.last == nil {
		p.began, p.beganDone = s, c.done
	}
	p.meter.add(c, &s)
	p.last = p.standing(c, &s)
}

func (p *progress) standing(c counts, s *flotilla.Snapshot) *standing {
	b := batchesIn(s)
	st := &standing{
		at: s.At, job: p.w.job, counts: c, cap: p.w.cap, lanes: s.Lanes, batches: b,
		rates: p.meter.rates(), eta: p.eta(&c, s, &b), bound: p.meter.binding(),
	}
	for i := range s.Lanes {
		l := &s.Lanes[i]
		st.refuse += l.RateLimited
		st.over += l.Overloaded
		if st.bound.laneKey == keyOf(l) && c.done < c.rows {
			st.limit = sharedText(st.bound.limit, l, s.Lanes)
		}
	}
	for _, l := range p.began.Lanes {
		st.refuse -= l.RateLimited
		st.over -= l.Overloaded
	}
	if closed := closedText(s.Lanes); closed != "" && c.done < c.rows {
		st.limit, st.eta = closed, time.Time{} // no rate of the past says when a lane opens
	}
	return st
}

// events shows what the fleet told.
func (p *progress) events() {
	for _, n := range p.take() {
		if e := p.eventOf(&n); e != nil && (p.each || !p.gathered.take(e)) {
			p.view.event(e)
		}
	}
	p.mu.Lock()
	own := p.own
	p.own = nil
	p.mu.Unlock()
	for i := range own {
		if p.last != nil {
			own[i].at = p.last.at
		}
		p.view.event(&own[i])
	}
}

// colleagueEvery is how often people are told of the same lane's colleagues:
// the first time at once, then no more often than rates are of.
const colleagueEvery = time.Minute

func (p *progress) eventOf(n *flotilla.Notice) *event {
	text := noticeText(n)
	if text == "" {
		return nil
	}
	if n.Kind == flotilla.ColleagueSeen {
		k := syncLane(n)
		if at, said := p.colleague[k]; said && n.At.Sub(at) < colleagueEvery {
			return nil
		}
		p.colleague[k] = n.At
		text += p.slower(n)
	}
	if n.Kind == flotilla.CeilingChosen {
		text = "flotilla: " + text + p.openedFrom(n)
	}
	return &event{
		at: n.At, kind: nameOf(n.Kind), text: text, org: n.Org, pool: n.Pool,
		class: n.Class, limit: n.Limit, value: n.Value, until: n.Until, batch: n.BatchID, took: n.Took,
	}
}

// openedFrom says with how many calls a lane begins, where that is fewer than
// it may come to.
func (p *progress) openedFrom(n *flotilla.Notice) string {
	p.look(context.Background())
	if p.last == nil {
		return ""
	}
	for i := range p.last.lanes {
		l := &p.last.lanes[i]
		if keyOf(l) == syncLane(n) && l.Window >= 1 && l.Window < n.Value {
			return fmt.Sprintf(", opened up step by step from %.0f", l.Window)
		}
	}
	return ""
}

// nameOf names a notice for programs.
func nameOf(kind flotilla.NoticeKind) string {
	return cmp.Or(noticeKinds[kind], batchNoticeKinds[kind])
}

// noticeKinds name notices for programs.
var noticeKinds = map[flotilla.NoticeKind]string{
	flotilla.LaneParked: "lane_parked", flotilla.LaneReopened: "lane_reopened", flotilla.ColleagueSeen: "colleague",
	flotilla.CeilingChosen: "ceiling", flotilla.WindowChanged: "window", flotilla.DailyLearned: "daily_cap",
	flotilla.MachineSlept: "machine_slept", flotilla.StoreFailed: "store_failed", flotilla.UsageBeyond: "usage_beyond",
}

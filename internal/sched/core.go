package sched

import (
	"math"
	"time"
)

// Core is the scheduler: a state machine that is told what happened and
// answers what to do. It is not safe for concurrent use; see the package
// comment for what its driver owes it.
type Core struct {
	cfg  settings
	rng  prng
	bat  batching
	now  time.Duration
	wake time.Duration // Next's answer
	out  outbox

	pools   []*pool
	orgs    []*org
	groups  []*group
	lanes   []*lane
	streams []*stream // that have not been forgotten, in the order of their opening
	of      map[StreamID]*stream
	nextID  StreamID
	closing []*stream // closed, and not yet forgotten
	ledgers []ledger

	calls    []call // slots; freeCalls are unused
	free     []int32
	callOf   idTable
	attempts []attempt
	freeAtt  []int32
	attOf    idTable
	lastAtt  AttemptID
	chunks   chunkPool
	beg      beginnings
	waits    waitHeap // calls that wait after a failure of their own
	pass     uint64   // of serveOne; marks lanes held in this pass
	queues   []*queue // scratch of order
	busy     []*pool  // scratch of serveAll: those with something to send
	sentOn   *lane    // by the last serve that sent
}

// New makes a core without lanes or streams whose time is 0.
func New(cfg Config) *Core {
	c := &Core{cfg: resolve(cfg), wake: Never, of: map[StreamID]*stream{}}
	c.rng.seed(cfg.Seed, 0x666c6f74696c6c61)
	c.bat.rng.seed(cfg.Seed, 0x62617463686573)
	c.bat.wake = Never
	for _, l := range cfg.Ledgers {
		c.ledgers = append(c.ledgers, newLedger(l))
	}
	return c
}

// Pool gives the number of the pool of that name, the same each time.
func (c *Core) Pool(name string) int32 {
	for i, p := range c.pools {
		if p.name == name {
			return int32(i)
		}
	}
	p := &pool{name: name, id: int32(len(c.pools)), rb: newTokens(c.cfg.perMinute)}
	c.pools = append(c.pools, p)
	return p.id
}

// Step tells the core that ev happened at now and returns what to do about it,
// in the order in which it must be done. Times must not decrease; an earlier
// one counts as the latest. The slice and what it points to are valid until
// the next Step.
func (c *Core) Step(now time.Duration, ev Event) []Action {
	c.out.reset()
	if now > c.now {
		c.now = now
	}
	if _, ok := ev.(*Tick); ok && c.now < c.wake {
		return nil // nothing can have opened: Next said so
	}
	c.apply(ev)
	c.dispatch()
	if len(c.closing) > 0 {
		c.forgetStreams()
	}
	return c.out.acts
}

// Next is the earliest time at which a gate may open, a wait may end or a probe
// may be due: the driver sends a Tick then, unless another event comes first.
// Never if only an event can help.
func (c *Core) Next() time.Duration { return c.wake }

func (c *Core) apply(ev Event) {
	switch e := ev.(type) {
	case *Tick:
	case *Done:
		c.onDone(e)
	case *Headers:
		c.onHeaders(e)
	case *Progress:
		c.onProgress(e)
	case *Refused:
		c.onRefused(e)
	case *Failed:
		c.onFailed(e)
	case *Offer:
		c.onOffer(e)
	case *AddLane:
		c.addLane(e.Lane)
	case *AddStream:
		c.addStream(e.Stream)
	case *AddLedger:
		c.ledgers = append(c.ledgers, newLedger(e.Ledger))
	case *Backlog:
		c.onBacklog(e)
	default:
		c.bat.dirty = true
		c.applyRare(ev)
		c.applyBatch(ev)
	}
}

func (c *Core) applyRare(ev Event) {
	switch e := ev.(type) {
	case *Exhausted:
		if s := c.stream(e.Stream); s != nil {
			s.exhausted = true
		}
	case *Withdraw:
		c.onWithdraw(e.Call)
	case *CloseStream:
		c.closeStream(e.Stream)
	case *PauseStream:
		if s := c.stream(e.Stream); s != nil {
			s.paused = e.Paused
		}
	case *PauseLane:
		if l := c.lane(e.Lane); l != nil {
			l.paused = e.Paused
		}
	case *Learn:
		c.learn(e)
	case *SetCap:
		c.setCap(e.Group, e.Cap)
	case *SetLedger:
		c.setLedger(e.Ledger, e.Limit, e.Free)
	case *Woke:
		c.onWoke()
	}
}

func (c *Core) lane(id LaneID) *lane {
	if id < 0 || int(id) >= len(c.lanes) {
		return nil
	}
	return c.lanes[id]
}

func (c *Core) stream(id StreamID) *stream {
	return c.of[id]
}

// settings is a Config with its defaults filled in.
type settings struct {
	Config
	step       time.Duration // between doublings of the ramp
	start      float64       // share of the cap at which the ramp begins
	perMinute  float64
	perSuccess float64
	minute     time.Duration // of Epoch within its wall-clock minute
}

// Defaults of facts/control.md B.14, with interface.md's where they differ.
func resolve(cfg Config) settings {
	s := settings{Config: cfg, start: 0.25, step: 30 * time.Second}
	if cfg.Ramp == RampFast {
		s.start, s.step = 0.5, 10*time.Second
	}
	s.MaxAttempts = orElse(cfg.MaxAttempts, 3)
	s.BaseDelay = orElse(cfg.BaseDelay, 2*time.Second)
	s.MaxDelay = orElse(cfg.MaxDelay, 30*time.Second)
	s.perMinute = orElse(cfg.RetryPerMinute, 20)
	s.perSuccess = orElse(cfg.RetryPerSuccess, 0.1)
	s.LookAhead = orElse(cfg.LookAhead, 8)
	s.HeadPatience = orElse(cfg.HeadPatience, 10*time.Second)
	s.BlindWait = orElse(cfg.BlindWait, 5*time.Second)
	if !cfg.Epoch.IsZero() {
		s.minute = time.Duration(cfg.Epoch.Second())*time.Second + time.Duration(cfg.Epoch.Nanosecond())
	}
	return s
}

// share reads a floor: 0 is the default, negative is none.
func share(v, def float64) float64 {
	switch {
	case v == 0:
		return def
	case v < 0:
		return 0
	}
	return v
}

func orElse[T int | float64 | time.Duration](v, def T) T {
	if v == 0 {
		return def
	}
	return v
}

func secs(d time.Duration) float64 { return float64(d) * 1e-9 }

// span turns seconds into a duration, rounded up so that a gate is open when
// it has passed.
func span(s float64) time.Duration {
	if s >= 9e9 || math.IsNaN(s) {
		return Never
	}
	return time.Duration(math.Ceil(s * 1e9))
}

// after is t + d without overflow.
func after(t, d time.Duration) time.Duration {
	if d == Never || t > Never-d {
		return Never
	}
	return t + d
}

package sched

import (
	"math"
	"time"
)

// pool is the group of models that share limits; calls name it, lanes serve it.
type pool struct {
	name    string
	id      int32
	lanes   []*lane // of the sync tier
	batch   []*lane // of the batch tier
	queues  []*queue
	backlog int // calls queued
	rb      tokens
	vtime   [NumPriorities]float64 // of the stream served last
	owed    [NumPriorities]float64 // work that lower priorities are due
	turn    float64                // weighted work served, against its rivals (rivals.go)
	wake    time.Duration
	denials bool // some lane denies some model
}

// org is an API organisation: account-level refusals close all its lanes.
type org struct {
	name      string
	park      park
	lanes     []*lane
	succeeded bool
	batches   *batchQueue // nil: no batch lane
}

// group is lanes that share a cap on attempts in flight: an org × family.
type group struct {
	id   int32
	cap  int
	n    int
	turn float64 // of the pool served last
}

// lane is org × pool × tier: the thing that has limits, a window, a mirror.
type lane struct {
	id     LaneID
	cfg    LaneConfig
	org    *org
	pool   *pool
	group  *group
	at     time.Duration // to which the mirror is advanced
	opened time.Duration

	b     [NumDims]bucket
	drain float64 // integral of rho: output tokens an attempt in flight produced
	col   bool    // some bucket has a colleague estimate

	n, peak int
	paused  bool
	denied  []uint16
	epoch   uint32 // raised by Woke

	alone    alone
	lastOK   time.Duration
	okSent   time.Duration // when the newest of the answered attempts was sent
	burst    burst         // of transport failures
	inRow    int           // refused or failed attempts since the last answer
	win      float64       // attempts it may have in flight
	lastSend time.Duration
	lastRead time.Duration
	sentAny  bool

	hold    time.Duration // retry-after, cooldown: nothing before
	holdWhy Limit
	cutAt   AttemptID // refusals of attempts up to this one are of an episode already punished
	park    park

	lat    latency
	meanIn mean // input tokens a call
	gap    mean // seconds between reports of an attempt's progress
	rate   ownRate
	since  tally
	aimd   aimd
	ramp   ramp
	brake  brake
	rb     tokens
	thin   thinning
	accel  accel
	day    day
	streak streak

	reserve       bool // output limits reserve max_tokens
	reserveMisses int
	maxOuts       float64 // sum of what attempts in flight may produce

	maxBytes int64 // of one create, on the batch tier

	endgame bool
	held    uint64        // pass in which a call ahead holds this lane
	open    bool          // passes its own gates now
	why     Limit         // if not: which says so,
	opens   time.Duration // and when it may pass
	heldBy  int           // rank of that call's queue
	blame   Limit         // what the item gates said

	waiting   Limit
	waitSince time.Duration
	clocks    [NumLimits]time.Duration

	refused                     [NumClasses]int64
	steady, hidden, accelSilent int64
	sent, succeeded, failed     int64
	saidCol                     [NumDims]float64
}

func (c *Core) addLane(cfg LaneConfig) {
	l := &lane{id: LaneID(len(c.lanes)), cfg: cfg, at: c.now, waiting: LimitWork, waitSince: c.now, opened: c.now}
	l.org = c.orgNamed(cfg.Org)
	l.org.lanes = append(l.org.lanes, l)
	l.pool = c.pools[c.Pool(cfg.Pool)]
	if cfg.Tier == Batch {
		c.addBatchLane(l, &cfg)
	} else {
		l.pool.lanes = append(l.pool.lanes, l)
		l.group = c.groupOf(cfg.Group)
		l.group.cap = cfg.Cap
	}
	for d := range l.b {
		l.b[d] = newBucket(c.cfg.floorsOf(cfg.Share, Dim(d)))
		if v := cfg.PerMinute[d]; v > 0 {
			l.b[d].learn(v, true)
		}
		if h := cfg.HintRate[d]; h > 0 && h < maxGain {
			l.b[d].g, l.b[d].gFail = h, h/0.97
		}
	}
	l.rb = newTokens(c.cfg.perMinute)
	l.thin.reset()
	l.brake.m = 1
	l.aimd.w = math.Inf(1)
	l.lastSend, l.lastRead = c.now, c.now
	l.startRamp(c, cfg.HintRamp)
	l.hintWindow(cfg.HintWindow)
	l.day.open(cfg, c.now)
	c.lanes = append(c.lanes, l)
	if cfg.Tier == Batch {
		return
	}
	c.say(NoteCeiling, l, 0, 0, float64(l.group.cap))
}

func (c *Core) orgNamed(name string) *org {
	for _, o := range c.orgs {
		if o.name == name {
			return o
		}
	}
	o := &org{name: name}
	c.orgs = append(c.orgs, o)
	return o
}

func (c *Core) groupOf(id int32) *group {
	for _, g := range c.groups {
		if g.id == id {
			return g
		}
	}
	g := &group{id: id}
	c.groups = append(c.groups, g)
	return g
}

func (c *Core) setCap(id int32, n int) {
	for _, g := range c.groups {
		if g.id == id {
			g.cap = n
		}
	}
}

// advance brings mirror and pacing credit to now.
func (l *lane) advance(now time.Duration) {
	if now <= l.at {
		return
	}
	dt := secs(now - l.at)
	l.at = now
	fade := 1.0
	if l.col {
		fade = math.Exp(-dt / colFade)
	}
	rho := l.rho()
	l.drain += rho * dt
	flow := 0.0
	if !l.reserve {
		flow = float64(l.n) * rho
	}
	for d := range l.b {
		b := &l.b[d]
		if b.r == 0 {
			continue
		}
		drain := 0.0
		if Dim(d) == Output {
			drain = flow
		}
		b.advance(dt, fade, drain, l.paced(Dim(d)), l.endgame)
	}
}

// paced says whether dispatch is paced by this dimension: output is charged
// while it is produced, so its control is the number of open streams instead.
func (l *lane) paced(d Dim) bool {
	switch d {
	case Output:
		return l.reserve
	case Tokens:
		return l.b[Tokens].binds
	}
	return true
}

func (c *Core) onWoke() {
	for _, l := range c.lanes {
		l.advance(c.now)
		l.epoch++
		l.startRamp(c, 0)
		for d := range l.b {
			l.b[d].forget()
		}
	}
}

func (c *Core) learn(e *Learn) {
	l := c.lane(e.Lane)
	if l == nil {
		return
	}
	l.advance(c.now)
	for d, v := range e.PerMinute {
		if v > 0 {
			l.b[d].learn(v, true)
		}
	}
	if e.TokensPerDay > 0 {
		l.day.limit, l.day.learned = float64(e.TokensPerDay), false
	}
	if e.Source != "" {
		l.cfg.LimitSource = e.Source
	}
}

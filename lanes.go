package flotilla

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// group is the cap that all lanes of one family in one org share.
type group struct {
	key    string // org id and family
	limit  int    // the etiquette cap
	held   int    // our share of it; limit when it is all ours
	asking bool   // a lease or release is under way
}

// pool opens the lanes of a pool when the first row needs it.
func (f *Fleet) pool(now time.Duration, name, family string) *poolState {
	if p := f.pools[name]; p != nil {
		return p
	}
	p := &poolState{name: name, family: family, id: f.core.Pool(name)}
	f.pools[p.name] = p
	for _, o := range f.orgs {
		if !o.NoSync {
			p.lanes = append(p.lanes, f.addLane(now, o, p))
		}
	}
	return p
}

func (f *Fleet) addLane(now time.Duration, o *orgState, p *poolState) sched.LaneID {
	g := f.group(o, p.family)
	cfg := sched.LaneConfig{
		Org: o.Name, Pool: p.name, Tier: sched.Sync,
		Group: int32(g), Cap: f.groups[g].held,
		TokensPerDay: o.TokensPerDay,
	}
	if o.Share != nil {
		mode := sched.ShareMode(*o.Share)
		cfg.Share = &mode
	}
	if l, ok := o.PerMinute[p.name]; ok {
		cfg.PerMinute = [sched.NumDims]float64{sched.Requests: l.Requests, sched.Input: l.Input, sched.Output: l.Output}
		cfg.LimitSource = l.Source
	}
	f.recall(now, o, p, &cfg)
	id := sched.LaneID(len(f.lanes))
	f.lanes = append(f.lanes, laneState{org: o, pool: p, tier: sched.Sync, group: f.groups[g]})
	f.step(now, &sched.AddLane{Lane: cfg})
	return id
}

// batchLanes opens the batch lanes of a pool when a stream may use them.
func (f *Fleet) batchLanes(now time.Duration, p *poolState) {
	for _, o := range f.orgs {
		if !o.NoBatch {
			f.batchLane(now, o, p)
		}
	}
}

// batchLane is the batch lane of a pool in an org.
func (f *Fleet) batchLane(now time.Duration, o *orgState, p *poolState) sched.LaneID {
	if id, ok := p.batch[o]; ok {
		return id
	}
	id := sched.LaneID(len(f.lanes))
	if p.batch == nil {
		p.batch = map[*orgState]sched.LaneID{}
	}
	p.batch[o] = id
	f.lanes = append(f.lanes, laneState{org: o, pool: p, tier: sched.Batch})
	f.step(now, &sched.AddLane{Lane: sched.LaneConfig{
		Org: o.Name, Pool: p.name, Tier: sched.Batch, Group: -1, Queue: o.BatchQueue, BatchRPM: o.BatchRPM,
		Overhead: o.Turnaround.Overhead, RowRate: o.Turnaround.RowRate, Parallel: o.Turnaround.Parallel,
	}})
	if o.NoBatch {
		// It is opened for what an earlier run left there: nothing new goes in.
		f.step(now, &sched.PauseLane{Lane: id, Paused: true})
	}
	return id
}

// key names an org towards other processes: by its id where it has one, since
// they may name it otherwise.
func (o *orgState) key() string { return cmp.Or(o.id, o.Name) }

// group finds or makes the cap group of a family in an org.
func (f *Fleet) group(o *orgState, family string) int {
	key := o.key() + "/" + family
	for i, g := range f.groups {
		if g.key == key {
			return i
		}
	}
	limit := f.cfg.Conc[family]
	if limit <= 0 {
		limit = DefaultConc(family)
	}
	if o.base.Scheme == "http" {
		limit = min(limit, f.maxConns()) // no two calls share a connection
	}
	g := &group{key: key, limit: limit, held: limit}
	if f.cfg.Slots != nil {
		g.held = f.lease(g)
	}
	f.groups = append(f.groups, g)
	return len(f.groups) - 1
}

// leaseTTL is how long a process that says nothing keeps its slots: well over
// leaseEvery, and short enough that a dead one's are soon free.
const leaseTTL = 15 * time.Second

// lease asks for a new group's slots at once; a journal that cannot be asked
// gives none, for a cap that is per key must hold whatever happens to us.
func (f *Fleet) lease(g *group) int {
	held, target, err := f.askSlots(g, g.limit)
	if err != nil {
		f.fail(err)
		return 0
	}
	return min(held, target)
}

// askSlots asks within the life of a lease: after that, what we held is
// another's, so a journal that does not answer is one that cannot be asked.
func (f *Fleet) askSlots(g *group, want int) (held, target int, err error) {
	ctx, cancel := context.WithTimeout(f.ctx, leaseTTL)
	defer cancel()
	return f.cfg.Slots.Lease(ctx, g.key, g.limit, want, leaseTTL)
}

// giveSlotsBack ends the leases of a fleet that sends nothing any more, so that
// other processes need not wait for them to run out.
func (f *Fleet) giveSlotsBack() {
	if f.cfg.Slots == nil || f.fatal != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), leaseTTL)
	defer cancel()
	for _, g := range f.groups {
		_ = f.cfg.Slots.Release(ctx, g.key, 0) // a lease that stays runs out by itself
	}
}

// shareSlots keeps the leases of the cap groups fresh, beside the loop.
func (f *Fleet) shareSlots(now time.Duration) {
	if f.cfg.Slots == nil || now < f.nextLease {
		return
	}
	f.nextLease = now + time.Duration(float64(leaseEvery)*f.clock.speed)
	for i, g := range f.groups {
		if g.asking {
			continue
		}
		g.asking = true
		want := f.slotsWanted(g)
		f.flights.Go(func() {
			held, target, err := f.askSlots(g, want)
			f.inbox.put(message{run: func(now time.Duration) { f.leased(now, i, held, target, err) }})
		})
	}
}

// lineSlots is how many slots of a cap a fleet with open lines holds ready, and at
// least as many again as are in use: a call that comes while others have them all
// would wait for a second or two.
const lineSlots = 8

// slotsWanted is how many slots of a group could be used now.
func (f *Fleet) slotsWanted(g *group) int {
	flying := f.flyingIn(g)
	switch {
	case f.backlog():
		return max(g.limit, flying)
	case slices.ContainsFunc(f.streams, func(s *stream) bool { return s.line != nil && !s.closed }):
		return max(min(max(2*flying, lineSlots), g.limit), flying)
	}
	return flying
}

// leased takes in a share: the core keeps to it at once; what it is to give up
// is given back as soon as no more is in flight.
func (f *Fleet) leased(now time.Duration, i, held, target int, err error) {
	g := f.groups[i]
	if err != nil {
		g.asking = false
		if f.ctx.Err() == nil {
			f.fail(err)
		}
		return
	}
	if share := min(held, target); share != g.held {
		g.held = share
		f.step(now, &sched.SetCap{Group: int32(i), Cap: share})
	}
	if target >= held || f.flyingIn(g) > target {
		g.asking = false
		return
	}
	f.flights.Go(func() {
		err := f.cfg.Slots.Release(f.ctx, g.key, target)
		f.inbox.put(message{run: func(time.Duration) {
			g.asking = false
			if err != nil && f.ctx.Err() == nil {
				f.fail(err)
			}
		}})
	})
}

// flyingIn counts what a group has in flight.
func (f *Fleet) flyingIn(g *group) int {
	n := 0
	for l := range f.lanes {
		if f.lanes[l].group == g { // lanes of the batch tier have none
			n += f.core.Lane(sched.LaneID(l)).InFlight
		}
	}
	return n
}

// backlog reports whether more slots could be used: there are calls not in
// flight, or a source may give more at any moment.
func (f *Fleet) backlog() bool {
	return len(f.calls) > len(f.attempts) || slices.ContainsFunc(f.streams, func(s *stream) bool { return s.line == nil && !s.ended() && !s.closed && !s.eof })
}

// PauseLane holds a lane, so that it takes no calls or batches, or lets it go on.
// org, pool and tier are LaneState's; the error says that there is no such lane,
// or that the fleet is closed.
func (f *Fleet) PauseLane(org, pool, tier string, paused bool) error {
	found, err := ask(context.Background(), f, func(now time.Duration) bool {
		for id := range f.lanes {
			l := &f.lanes[id]
			if l.org.Name == org && l.pool.name == pool && tierName(l.tier) == tier {
				f.step(now, &sched.PauseLane{Lane: sched.LaneID(id), Paused: paused})
				return true
			}
		}
		return false
	})
	if err == nil && !found {
		err = fmt.Errorf("no lane %s, %s, %s: a lane opens with its first call", org, pool, tier)
	}
	return err
}

// model numbers models, for refusals that are the model's.
func (f *Fleet) model(name string) int32 {
	id, ok := f.models[name]
	if !ok {
		id = int32(len(f.models))
		f.models[name] = id
	}
	return id
}

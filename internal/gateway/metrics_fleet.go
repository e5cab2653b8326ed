package gateway

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/flotilla-llm/flotilla"
)

// fleetMetrics are read from the fleet when somebody asks: how it stands, not
// what it did.
type fleetMetrics struct{ of Watched }

// lookPatience bounds a look at a fleet that may be closing.
const lookPatience = 2 * time.Second

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(namespace+"_"+name, help, labels, nil)
}

// Descriptions of what the fleet is asked for.
var (
	descInFlight  = desc("lane_in_flight", "Attempts in flight; of the batch tier, batches.", laneLabels...)
	descWindow    = desc("lane_window", "Attempts that may be in flight now.", laneLabels...)
	descCap       = desc("lane_cap", "The etiquette cap on attempts in flight.", laneLabels...)
	descOpen      = desc("lane_open", "1 while the lane takes calls, else 0.", laneLabels...)
	descPaused    = desc("lane_paused", "1 while a person holds the lane, else 0.", laneLabels...)
	descRefused   = desc("lane_refusals_total", "Attempts that were refused, by class, since this process began.", append(laneLabels[:3:3], "class")...)
	descLevel     = desc("lane_bucket_level", "What is left in the server's token bucket, as we believe it.", bucketLabels...)
	descCapacity  = desc("lane_bucket_capacity", "What the server's token bucket holds when it is full.", bucketLabels...)
	descSoft      = desc("lane_bucket_soft_floor", "Below this level sending slows to a trickle.", bucketLabels...)
	descHard      = desc("lane_bucket_hard_floor", "Below this level nothing is sent.", bucketLabels...)
	descLimit     = desc("lane_limit_per_minute", "The limit, as the headers say.", bucketLabels...)
	descOthers    = desc("lane_others_per_minute", "What others use of the limit.", bucketLabels...)
	descQueueRows = desc("batch_queue_rows", "Rows in an org's batch queue.", "org", "whose")
	descQueueCap  = desc("batch_queue_capacity_rows", "Rows that an org's batch queue holds.", "org")

	descQueued  = desc("queue_calls", "Calls that wait for their turn.", "priority")
	descGoing   = desc("in_flight_calls", "Attempts in flight.", "priority")
	descOldest  = desc("queue_oldest_wait_seconds", "How long the call that is next has waited.", "priority")
	descClient  = desc("client_queue_calls", "Calls of a client that wait for their turn.", "client")
	descBatches = desc("batches_open", "Batches at the provider.", "org", "pool")
	descRows    = desc("batch_rows_open", "Rows of the batches at the provider.", "org", "pool")
	descAge     = desc("batch_oldest_age_seconds", "Age of the oldest batch at the provider.", "org", "pool")

	descToday    = desc("client_spent_today_usd", "Dollars spent for a client on this local day, worst cases in doubt included.", "client")
	descCapUSD   = desc("cap_usd", "The cap on what the gateway may spend (--max-spend).")
	descCapSpent = desc("cap_spent_usd", "What of --max-spend is spent, worst cases in doubt included.")
	descReserved = desc("cap_reserved_usd", "What of --max-spend is set aside for calls and batches under way.")
)

var (
	laneLabels   = []string{"org", "pool", "tier"}
	bucketLabels = []string{"org", "pool", "tier", "limit"}
)

var fleetDescs = []*prometheus.Desc{
	descInFlight, descWindow, descCap, descOpen, descPaused, descRefused, descLevel, descCapacity, descSoft, descHard, descLimit, descOthers,
	descQueueRows, descQueueCap, descQueued, descGoing, descOldest, descClient, descBatches, descRows, descAge,
	descToday, descCapUSD, descCapSpent, descReserved,
}

// Describe is part of prometheus.Collector.
func (f *fleetMetrics) Describe(to chan<- *prometheus.Desc) {
	for _, d := range fleetDescs {
		to <- d
	}
}

// Collect is part of prometheus.Collector.
func (f *fleetMetrics) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
	defer cancel()
	c := collection(to)
	f.money(ctx, c)
	s, err := f.of.Snapshot(ctx)
	if err != nil {
		return // no fleet any more: better no number than a wrong one
	}
	for i := range s.Lanes {
		c.lane(&s.Lanes[i])
	}
	c.streams(s.Streams)
	c.batches(s.Batches, s.At)
}

func (f *fleetMetrics) money(ctx context.Context, c collection) {
	for client, spent := range f.of.Spent(ctx) {
		c.gauge(descToday, dollars(spent), client)
	}
	if f.of.Pot == nil {
		return
	}
	limit, spent, reserved, err := f.of.Pot.State(ctx)
	if err != nil || limit < 0 {
		return
	}
	c.gauge(descCapUSD, dollars(limit))
	c.gauge(descCapSpent, dollars(spent))
	c.gauge(descReserved, dollars(reserved))
}

// collection is where one look's metrics go.
type collection chan<- prometheus.Metric

func (c collection) gauge(d *prometheus.Desc, v float64, labels ...string) {
	c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func (c collection) lane(l *flotilla.LaneState) {
	c.gauge(descInFlight, float64(l.InFlight), l.Org, l.Pool, l.Tier)
	if l.Window > 0 {
		c.gauge(descWindow, l.Window, l.Org, l.Pool, l.Tier)
	}
	if l.Cap > 0 { // the batch tier has none
		c.gauge(descCap, float64(l.Cap), l.Org, l.Pool, l.Tier)
	}
	c.gauge(descOpen, truth(!l.Closed), l.Org, l.Pool, l.Tier)
	c.gauge(descPaused, truth(l.Paused), l.Org, l.Pool, l.Tier)
	for class, n := range l.Refused {
		c <- prometheus.MustNewConstMetric(descRefused, prometheus.CounterValue, float64(n), l.Org, l.Pool, l.Tier, class)
	}
	// Unknown is no number here: a bucket of nobody's knowledge is not empty.
	if l.Capacity != (flotilla.Limits{}) {
		c.buckets(descLevel, &l.Level, &l.Capacity, l)
		c.buckets(descCapacity, &l.Capacity, &l.Capacity, l)
		c.buckets(descSoft, &l.SoftFloor, &l.Capacity, l)
		c.buckets(descHard, &l.HardFloor, &l.Capacity, l)
	}
	c.buckets(descLimit, &l.Limits, &l.Limits, l)
	c.buckets(descOthers, &l.Others, &l.Limits, l)
	if l.Queue > 0 {
		c.gauge(descQueueCap, float64(l.Queue), l.Org)
	}
	if l.Queued > 0 || l.QueuedByOthers > 0 {
		c.gauge(descQueueRows, float64(l.Queued), l.Org, "ours")
		c.gauge(descQueueRows, float64(l.QueuedByOthers), l.Org, "others")
	}
}

// buckets writes the numbers of those limits that are known.
func (c collection) buckets(d *prometheus.Desc, v, known *flotilla.Limits, l *flotilla.LaneState) {
	for _, b := range []struct {
		name     string
		v, known float64
	}{{"requests", v.Requests, known.Requests}, {"input_tokens", v.Input, known.Input}, {"output_tokens", v.Output, known.Output}} {
		if b.known > 0 {
			c.gauge(d, b.v, l.Org, l.Pool, l.Tier, b.name)
		}
	}
}

func (c collection) streams(all []flotilla.StreamState) {
	var queued, going [len(priorities)]int
	var oldest [len(priorities)]time.Duration
	clients := map[string]int{}
	for i := range all {
		s := &all[i]
		queued[s.Priority] += s.Queued
		going[s.Priority] += s.InFlight
		oldest[s.Priority] = max(oldest[s.Priority], s.OldestWait)
		if s.Client != "" {
			clients[s.Client] += s.Queued
		}
	}
	for p, name := range priorities {
		c.gauge(descQueued, float64(queued[p]), name)
		c.gauge(descGoing, float64(going[p]), name)
		c.gauge(descOldest, oldest[p].Seconds(), name)
	}
	for client, n := range clients {
		c.gauge(descClient, float64(n), client)
	}
}

func (c collection) batches(all []flotilla.BatchState, now time.Time) {
	type place struct{ org, pool string }
	n, rows, age := map[place]int{}, map[place]int{}, map[place]time.Duration{}
	for i := range all {
		b := &all[i]
		at := place{b.Org, b.Pool}
		n[at]++
		rows[at] += b.Rows
		age[at] = max(age[at], now.Sub(b.Made))
	}
	for at := range n {
		c.gauge(descBatches, float64(n[at]), at.org, at.pool)
		c.gauge(descRows, float64(rows[at]), at.org, at.pool)
		c.gauge(descAge, age[at].Seconds(), at.org, at.pool)
	}
}

func truth(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

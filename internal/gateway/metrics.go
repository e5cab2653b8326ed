package gateway

import (
	"context"
	"net/http"
	"runtime"
	"strconv"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// Watched is what Metrics read when they are asked.
type Watched struct {
	Snapshot func(ctx context.Context) (flotilla.Snapshot, error)
	// Spent is what clients have spent of the local day; those of which it is not
	// known are missing.
	Spent func(ctx context.Context) map[string]flotilla.Money
	Pot   Pot // of the gateway's own cap; nil: there is none
}

// Metrics are the numbers of a gateway for Prometheus. docs/gateway.md has what
// each means. Their labels are bounded: orgs, pools, models of the price table,
// clients that have keys.
type Metrics struct {
	registry *prometheus.Registry

	attempts, tokens, spent, doubt, kept, clientSpent, requests, cached *prometheus.CounterVec

	latency, firstByte, wait, took *prometheus.HistogramVec

	mu    sync.Mutex
	bound map[attemptLabels]*attemptMetrics
	calls map[requestLabels]*requestMetrics
}

// histogramBounds are the bounds of histograms: from what a local answer takes to what
// the longest takes.
var histogramBounds = []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 60, 150, 300, 600}

// NewMetrics registers all metrics in a registry of their own.
func NewMetrics(version string) *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		bound:    map[attemptLabels]*attemptMetrics{}, calls: map[requestLabels]*requestMetrics{},
	}
	lane := []string{"org", "pool", "tier", "model"}
	m.attempts = m.counter("attempts_total", "Attempts at the provider that have ended, by what they came to.", append(lane, "class")...)
	m.tokens = m.counter("tokens_total", "Tokens that were billed.", append(lane, "kind")...)
	m.spent = m.counter("spent_usd_total", "Dollars spent: attempts without an answer at their worst, answers that broke off by what came of them.", lane...)
	m.doubt = m.counter("in_doubt_usd_total", "Of flotilla_spent_usd_total, dollars of attempts of which it is unknown what they cost.", lane...)
	m.kept = m.counter("kept_in_doubt_usd_total", "Dollars that caps keep beyond flotilla_spent_usd_total for answers that broke off, up to their worst.", lane...)
	m.clientSpent = m.counter("client_spent_usd_total", "Dollars spent for a client, as in flotilla_spent_usd_total.", "client")
	m.requests = m.counter("requests_total", "Requests of clients that are over.", "client", "route", "status")
	m.cached = m.counter("cached_answers_total", "Requests answered from the journal.", "client")
	m.latency = m.histogram("attempt_seconds", "From an attempt's sending to the last byte of its answer.", lane[:3]...)
	m.firstByte = m.histogram("attempt_first_byte_seconds", "From an attempt's sending to the head of its answer.", lane[:3]...)
	m.wait = m.histogram("queue_wait_seconds", "From a call's arrival to the sending of its first attempt.", "priority")
	m.took = m.histogram("request_seconds", "From a request's arrival to the last byte of its answer.", "route")
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Namespace: namespace, Name: "build_info", Help: "1, with the version of flotilla and of Go.",
			ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
		}, func() float64 { return 1 }),
	)
	return m
}

// Watch adds what is read from a fleet.
func (m *Metrics) Watch(w Watched) { m.registry.MustRegister(&fleetMetrics{w}) }

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	v := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(v)
	return v
}

func (m *Metrics) histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	v := prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: histogramBounds}, labels)
	m.registry.MustRegister(v)
	return v
}

// namespace begins the name of every metric of ours.
const namespace = "flotilla"

// Handler serves /metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, EnableOpenMetrics: true})
}

// attemptLabels are those of an attempt.
type attemptLabels struct{ org, pool, tier, model, class, client string }

// attemptMetrics are an attempt's metrics with their labels bound: finding them
// by their labels costs ten times as much as counting.
type attemptMetrics struct {
	attempts, spent, doubt, kept, clientSpent prometheus.Counter

	tokens             [4]prometheus.Counter
	latency, firstByte prometheus.Observer
}

// kinds of tokens, as usageOf has them.
var kinds = [4]string{"input", "output", "cache_read", "cache_write"}

func usageOf(u *price.Usage) [4]int64 {
	return [4]int64{u.Input, u.Output, u.CacheRead, u.CacheWrite5m + u.CacheWrite1h}
}

// Observe takes in an attempt that has ended. It is quick.
func (m *Metrics) Observe(o flotilla.Observation) {
	a := m.attempt(attemptLabels{o.Org, o.Pool, o.Tier, o.Model, o.Class, o.Client})
	a.attempts.Inc()
	if usd := dollars(o.Cost); usd > 0 {
		a.spent.Add(usd)
		a.clientSpent.Add(usd)
		if o.InDoubt {
			a.doubt.Add(usd)
		}
	}
	if o.Kept > 0 {
		a.kept.Add(dollars(o.Kept))
	}
	for i, n := range usageOf(&o.Usage) {
		if n > 0 {
			a.tokens[i].Add(float64(n))
		}
	}
	if o.Latency > 0 {
		a.latency.Observe(o.Latency.Seconds())
	}
	if o.FirstByte > 0 {
		a.firstByte.Observe(o.FirstByte.Seconds())
	}
	if o.Attempt == 1 {
		m.wait.WithLabelValues(o.Priority.String()).Observe(o.Queued.Seconds())
	}
}

func (m *Metrics) attempt(l attemptLabels) *attemptMetrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a := m.bound[l]; a != nil {
		return a
	}
	lane := []string{l.org, l.pool, l.tier, l.model}
	with := func(v *prometheus.CounterVec, more ...string) prometheus.Counter {
		return v.WithLabelValues(append(lane[:4:4], more...)...)
	}
	a := &attemptMetrics{
		attempts: with(m.attempts, l.class), spent: with(m.spent), doubt: with(m.doubt), kept: with(m.kept),
		clientSpent: m.clientSpent.WithLabelValues(l.client),
		latency:     m.latency.WithLabelValues(lane[:3]...), firstByte: m.firstByte.WithLabelValues(lane[:3]...),
	}
	for i, kind := range kinds {
		a.tokens[i] = with(m.tokens, kind)
	}
	m.bound[l] = a
	return a
}

type requestLabels struct {
	client, route string
	status        int
}

type requestMetrics struct {
	requests, cached prometheus.Counter
	took             prometheus.Observer
}

// Told takes in a request that is over.
func (m *Metrics) Told(r *Record) {
	q := m.request(requestLabels{r.Client, r.Route, r.Status})
	q.requests.Inc()
	q.took.Observe(r.Took.Seconds())
	if r.Cached {
		q.cached.Inc()
	}
}

func (m *Metrics) request(l requestLabels) *requestMetrics {
	m.mu.Lock()
	defer m.mu.Unlock()
	if q := m.calls[l]; q != nil {
		return q
	}
	q := &requestMetrics{
		requests: m.requests.WithLabelValues(l.client, l.route, strconv.Itoa(l.status)),
		cached:   m.cached.WithLabelValues(l.client), took: m.took.WithLabelValues(l.route),
	}
	m.calls[l] = q
	return q
}

// dollars is an amount as Prometheus counts it.
func dollars(m flotilla.Money) float64 { return float64(m) / float64(price.Dollar) }

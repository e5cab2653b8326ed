package emulator

import (
	"testing"
	"time"
)

// withColleague is a world whose one colleague is set to work by a first
// request of ours.
func withColleague(t *testing.T, c Colleague) *Model {
	t.Helper()
	m := NewModel(one(Org{Limits: tierStart, Colleagues: []Colleague{c}}, func(sc *Scenario) {
		sc.Latency = Latency{TTFT: 600 * time.Millisecond, PerSecond: 75}
	}), 1, epoch)
	call(t, m, 0, 0, 1, 1)
	return m
}

// others is what colleagues sent, and how much of it was refused, between two
// instants.
func others(m *Model, from, to time.Duration) (requests, refused int64) {
	a := m.Stats(from).Orgs[0]
	b := m.Stats(to).Orgs[0]
	return b.OtherRequests - a.OtherRequests, b.OtherRefused - a.OtherRefused
}

func TestPoissonColleagueUsesItsShare(t *testing.T) {
	m := withColleague(t, Colleague{Kind: "poisson", Share: 0.4})
	n, refused := others(m, 0, time.Hour)
	near(t, "requests an hour", float64(n), 60*0.4*2e6/2000, 0.03)
	if refused != 0 {
		t.Errorf("%d refused though alone", refused)
	}
	if st := m.Stats(time.Hour); st.Requests != 1 || st.Billed == 0 {
		t.Errorf("ours: %d requests, billed %d", st.Requests, st.Billed)
	}
}

func TestBurstColleague(t *testing.T) {
	m := withColleague(t, Colleague{Kind: "burst", Requests: 25, Every: time.Minute, In: 8000})
	if n, _ := others(m, 0, 29*time.Second); n != 0 {
		t.Errorf("%d before the first burst", n)
	}
	if n, _ := others(m, 29*time.Second, 35*time.Second); n != 25 {
		t.Errorf("%d in the burst", n)
	}
	if n, _ := others(m, 35*time.Second, 10*time.Minute+40*time.Second); n != 250 {
		t.Errorf("%d in ten more minutes", n)
	}
}

// The plain client finds the limit by colliding with it, again and again.
func TestGreedyColleague(t *testing.T) {
	m := withColleague(t, Colleague{Kind: "aimd"})
	n, refused := others(m, 5*time.Minute, 15*time.Minute)
	near(t, "admitted a minute", float64(n-refused)/10, 1000, 0.05)
	if refused < 10 {
		t.Errorf("only %d refused", refused)
	}
}

func TestColleagueComesRestsAndLeaves(t *testing.T) {
	m := withColleague(t, Colleague{Kind: "poisson", Share: 0.4, From: time.Minute, Until: 10 * time.Minute, On: time.Minute, Off: time.Minute})
	for i := range 12 {
		at := time.Duration(i) * time.Minute
		n, _ := others(m, at+5*time.Second, at+55*time.Second)
		if working := i%2 == 1 && i < 10; working != (n > 100) || !working && n > 0 {
			t.Errorf("minute %d: %d requests", i, n)
		}
	}
	if next := m.NextInternal(); next != Never {
		t.Errorf("gone, it acts again at %v", next)
	}
}

// plugged is a test's own client.
type plugged struct {
	at   []time.Duration
	seen []time.Duration
}

func (p *plugged) Next() time.Duration {
	if len(p.at) == 0 {
		return Never
	}
	return p.at[0]
}

func (p *plugged) Act(now time.Duration, m *Model) {
	p.seen = append(p.seen, now)
	p.at = p.at[1:]
	x := m.Arrive(now, Arrival{Model: 1, Hash: hashOf(len(p.at)), Est: 5, MaxTokens: 5})
	m.Release(x)
}

// A plugged-in client acts at its own times, before whatever comes later.
func TestPluggedClient(t *testing.T) {
	m := NewModel(one(Org{}), 1, epoch)
	p := &plugged{at: []time.Duration{3, 5, 5, 9}}
	m.Join(p)
	if got := m.NextInternal(); got != 3 {
		t.Errorf("next at %v", got)
	}
	m.Advance(7)
	if len(p.seen) != 3 || p.seen[2] != 5 || m.Stats(7).Requests != 3 {
		t.Errorf("acted at %v", p.seen)
	}
	m.Advance(9)
	if m.NextInternal() != Never || m.Stats(9).Requests != 4 {
		t.Errorf("acted at %v", p.seen)
	}
}

// Its window opens by 5 % a round and is halved by a refusal.
func TestGreedyColleaguesWindow(t *testing.T) {
	inFlight := func(m *Model, at time.Duration) int {
		m.Advance(at)
		return m.lanes[0][poolIndex("haiku-4.5")].inFlight
	}
	open := NewModel(one(Org{Limits: Limits{1e9, 1e12, 1e12}, Colleagues: []Colleague{{Kind: "aimd"}}}, slow), 1, epoch)
	call(t, open, 0, 0, 1, 1)
	if n := inFlight(open, 2*time.Minute); n < 150 { // one more a round would be 90
		t.Errorf("%d in flight after two minutes without refusal", n)
	}
	narrow := NewModel(one(Org{Limits: Limits{1e9, 1e12, 1e12}, Concurrency: 40, Colleagues: []Colleague{{Kind: "aimd"}}}, slow), 1, epoch)
	call(t, narrow, 0, 0, 1, 1)
	least, most, busy := 40.0, 0.0, 0
	for at := 2 * time.Minute; at < 4*time.Minute; at += 100 * time.Millisecond {
		busy = max(busy, inFlight(narrow, at))
		window := narrow.clients[0].(*aimd).window
		least, most = min(least, window), max(most, window)
	}
	if least > 22 || most < 39 || most > 44 || busy != 40 {
		t.Errorf("a window of %v to %v, up to %d in flight, under a limit of 40", least, most, busy)
	}
}

func slow(sc *Scenario) { sc.Latency = Latency{TTFT: 600 * time.Millisecond, PerSecond: 75} }

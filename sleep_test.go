package flotilla_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
)

// A laptop is shut for an hour in the middle of a run: the wall clock jumps,
// the monotonic one does not. No row is errored, the fleet says so, and the
// deadline stays where it was on the wall.
func TestMachineSleepsForAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		var slept atomic.Int64
		begin := time.Now()
		cfg := flotilla.WithClock(w.config(), func() (time.Time, time.Duration) {
			return time.Now().Add(time.Duration(slept.Load())), time.Since(begin)
		})
		var woken atomic.Int64
		cfg.Notify = func(n flotilla.Notice) {
			if n.Kind == flotilla.MachineSlept {
				woken.Add(1)
			}
		}
		fleet := newFleet(t, cfg)
		go func() {
			time.Sleep(5 * time.Second)
			slept.Store(int64(time.Hour))
		}()
		n := 0
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests(3000)), flotilla.Options{N: 3000, Deadline: begin.Add(2 * time.Hour)}) {
			if res.Err != nil {
				t.Fatalf("%s: %v", res.ID, res.Err)
			}
			n++
		}
		if n != 3000 || woken.Load() != 1 {
			t.Errorf("%d of 3000 results, woken %d times", n, woken.Load())
		}
		if now := fleet.Now(); now.Before(begin.Add(time.Hour)) {
			t.Errorf("the time line stands at %v, the wall at %v", now, begin.Add(time.Hour))
		}
	})
}

// A sleep is noticed although the wall clock was set back before it.
func TestMachineSleepsAfterItsClockWasSetBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		var moved atomic.Int64
		begin := time.Now()
		cfg := flotilla.WithClock(w.config(), func() (time.Time, time.Duration) {
			return time.Now().Add(time.Duration(moved.Load())), time.Since(begin)
		})
		var woken atomic.Int64
		cfg.Notify = func(n flotilla.Notice) {
			if n.Kind == flotilla.MachineSlept {
				woken.Add(1)
			}
		}
		fleet := newFleet(t, cfg)
		go func() {
			time.Sleep(5 * time.Second)
			moved.Store(int64(-time.Hour))
			time.Sleep(5 * time.Second)
			moved.Store(int64(-time.Hour + 20*time.Minute))
		}()
		for res := range fleet.Dispatch(t.Context(), slices.Values(requests(3000)), flotilla.Options{N: 3000}) {
			if res.Err != nil {
				t.Fatalf("%s: %v", res.ID, res.Err)
			}
		}
		if woken.Load() != 1 {
			t.Errorf("woken %d times", woken.Load())
		}
		if now, least := fleet.Now(), begin.Add(20*time.Minute); now.Before(least) || now.After(least.Add(10*time.Minute)) {
			t.Errorf("the time line stands at %v, %v after the start", now, now.Sub(begin))
		}
	})
}

// A deadline that passes while the machine sleeps is passed when it wakes.
func TestDeadlinePassesInASleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		var slept atomic.Int64
		begin := time.Now()
		fleet := newFleet(t, flotilla.WithClock(w.config(), func() (time.Time, time.Duration) {
			return time.Now().Add(time.Duration(slept.Load())), time.Since(begin)
		}))
		go func() {
			time.Sleep(5 * time.Second)
			slept.Store(int64(time.Hour))
		}()
		src := &rows{fleet: fleet, bodies: bodies(20_000)}
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{Deadline: begin.Add(30 * time.Minute)})
		if err != nil || report.Cause != flotilla.DeadlinePassed {
			t.Fatalf("cause %v, error %v", report.Cause, err)
		}
		if len(src.got) == 0 || len(src.got) == 20_000 {
			t.Errorf("%d results: want some, not all", len(src.got))
		}
	})
}

// Ten minutes without a network, from one second to the next: connections
// break, none can be opened, and then all is well. No row is errored.
func TestTenMinutesWithoutNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, emulator.Options{Scenario: scenario(t, "steady"), Seed: 1})
		down := new(atomic.Bool)
		cfg := w.config()
		cfg.Transport = func(flotilla.Org) http.RoundTripper {
			tr := w.net.Transport()
			tr.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
				if down.Load() {
					return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errNoRoute}
				}
				conn, err := w.net.Dial(ctx, network, addr)
				return &cuttable{Conn: conn, down: down}, err
			}
			return tr
		}
		fleet := newFleet(t, cfg)
		begin := time.Now()
		go func() {
			time.Sleep(5 * time.Second)
			down.Store(true)
			time.Sleep(10 * time.Minute)
			down.Store(false)
		}()
		src := &rows{fleet: fleet, bodies: bodies(3000)}
		report, err := fleet.Carry(t.Context(), src, flotilla.Options{N: 3000})
		if err != nil || report.Cause != flotilla.Finished {
			t.Fatalf("cause %v, error %v", report.Cause, err)
		}
		for _, res := range src.got {
			if res.Err != nil {
				t.Fatalf("row %d: %v", res.Row, res.Err)
			}
		}
		took := time.Since(begin)
		t.Logf("%v, %d attempts for 3000 rows, %d transport errors", took, report.Attempts, report.TransportErrors)
		if took > 14*time.Minute {
			t.Errorf("it took %v: the outage was over after 10 minutes", took)
		}
		if report.Attempts > 3000+1000 {
			t.Errorf("%d attempts: the dead network was hammered", report.Attempts)
		}
	})
}

type noRoute struct{}

func (noRoute) Error() string { return "network is unreachable" }

var errNoRoute error = noRoute{}

// cuttable is a connection that breaks when the network is down.
type cuttable struct {
	net.Conn
	down *atomic.Bool
}

func (c *cuttable) Write(b []byte) (int, error) {
	if c.down.Load() {
		_ = c.Close()
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: errNoRoute}
	}
	return c.Conn.Write(b)
}

func (c *cuttable) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.down.Load() {
		_ = c.Close()
		return 0, &net.OpError{Op: "read", Net: "tcp", Err: errNoRoute}
	}
	return n, err
}

func bodies(n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = request(i).Body
	}
	return out
}

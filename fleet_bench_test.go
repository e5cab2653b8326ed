package flotilla_test

import (
	"bytes"
	"io"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/journal"
)

// unlimited starts an emulator without limits or latency on loopback, whose
// answers are about a kilobyte.
func unlimited(b *testing.B) string {
	b.Helper()
	sc, err := emulator.Named("unlimited")
	if err != nil {
		b.Fatal(err)
	}
	server, err := emulator.New(emulator.Options{Scenario: sc, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	base, err := server.Listen("127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = server.Close() })
	return base
}

// bare is what a careful person writes by hand: workers over net/http with
// enough idle connections, and nothing else.
func bare(b *testing.B, base string, bodies [][]byte, workers int) time.Duration {
	b.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: workers, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	names := []string{"high", "batch", "low"}
	var next atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for w := range workers {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(bodies) {
					return
				}
				req, err := http.NewRequest(http.MethodPost, base+"/v1/messages", bytes.NewReader(bodies[i]))
				if err != nil {
					b.Error(err)
					return
				}
				req.Header.Set("x-api-key", "sk-ant-emulated-"+names[w%3])
				req.Header.Set("anthropic-version", flotilla.DefaultVersion)
				req.Header.Set("content-type", "application/json")
				resp, err := client.Do(req)
				if err != nil {
					b.Error(err)
					return
				}
				if _, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
					b.Error(resp.Status, err)
				}
				_ = resp.Body.Close()
			}
		})
	}
	wg.Wait()
	return time.Since(begin)
}

// BenchmarkFleetAgainstBareLoop compares calls a second of a Fleet with its
// journal on disk and of a bare worker loop, 3 orgs × 100 in flight against
// the same server in this process, and prints the ratio (at least 0.5; aim 0.7).
func BenchmarkFleetAgainstBareLoop(b *testing.B) {
	const n = 30_000
	base := unlimited(b)
	bodies := make([][]byte, n)
	for i := range bodies {
		bodies[i] = request(i).Body
	}
	for b.Loop() {
		idle := cpu(b)
		slow := bare(b, base, bodies, 300)
		bareCPU := cpu(b) - idle
		path := filepath.Join(b.TempDir(), "journal.db")
		store, err := journal.Open(b.Context(), path, journal.Options{})
		if err != nil {
			b.Fatal(err)
		}
		fleet, err := flotilla.New(flotilla.Config{
			BaseURL: base, Orgs: orgs("high", "batch", "low"), Conc: map[string]int{"haiku": 100},
			Ramp: flotilla.RampOff, Stream: flotilla.StreamOff, Store: store,
		})
		if err != nil {
			b.Fatal(err)
		}
		src := &rows{fleet: fleet, bodies: bodies}
		idle = cpu(b)
		begin := time.Now()
		if _, err := fleet.Carry(b.Context(), src, flotilla.Options{N: n}); err != nil {
			b.Fatal(err)
		}
		took := time.Since(begin)
		if len(src.got) != n {
			b.Fatalf("%d of %d results", len(src.got), n)
		}
		_ = fleet.Close()
		_ = store.Close()
		b.ReportMetric(n/slow.Seconds(), "bare-calls/s")
		b.ReportMetric(n/took.Seconds(), "fleet-calls/s")
		b.ReportMetric(slow.Seconds()/took.Seconds(), "ratio")
		// Server included: both loops have the same one in this process.
		b.ReportMetric(float64(bareCPU.Microseconds())/n, "bare-cpu-µs/call")
		b.ReportMetric(float64((cpu(b)-idle).Microseconds())/n, "fleet-cpu-µs/call")
	}
}

// cpu is the processor time this process has used.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

package flotilla_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// lineBody is a request of 1.5 KB.
func lineBody() []byte {
	return []byte(`{"model":"claude-haiku-4-5","max_tokens":100,"messages":[{"role":"user","content":"` +
		string(bytes.Repeat([]byte("lorem ipsum dolor "), 75)) + `"}]}`)
}

// instant is a server that answers a kilobyte at once.
func instant(b *testing.B) *httptest.Server {
	b.Helper()
	answer := []byte(answerOf("msg_1", 5))
	answer = bytes.Replace(answer, []byte(`"ok"`), append(append([]byte{'"'}, bytes.Repeat([]byte("x"), 800)...), '"'), 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer)
	}))
	b.Cleanup(server.Close)
	return server
}

// BenchmarkLine is what a call of a line costs over the RoundTrip that it makes,
// 32 at a time against a server in this process: bare is the RoundTrip alone,
// line without a store, kept with a journal on disk. cpu-µs/call includes the
// server's own.
func BenchmarkLine(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		server := instant(b)
		transport := &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}
		defer transport.CloseIdleConnections()
		body := lineBody()
		benchCalls(b, func() error {
			req, err := http.NewRequest(http.MethodPost, server.URL+"/v1/messages", bytes.NewReader(body))
			if err != nil {
				return err
			}
			req.Header = http.Header{"X-Api-Key": {"k"}, "Anthropic-Version": {flotilla.DefaultVersion}, "Content-Type": {"application/json"}}
			resp, err := transport.RoundTrip(req)
			if err != nil {
				return err
			}
			_, err = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
			return err
		})
	})
	b.Run("line", func(b *testing.B) { benchLine(b, nil) })
	b.Run("kept", func(b *testing.B) {
		store, err := journal.Open(b.Context(), filepath.Join(b.TempDir(), "journal.db"), journal.Options{})
		if err != nil {
			b.Fatal(err)
		}
		benchLine(b, store)
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	})
}

func benchLine(b *testing.B, store *journal.Journal) {
	server := instant(b)
	cfg := flotilla.Config{
		BaseURL: server.URL, Orgs: []flotilla.Org{{Name: "high", Key: "sk-ant-emulated-high"}},
		Conc: map[string]int{"haiku": 64}, Ramp: flotilla.RampOff,
	}
	opt := flotilla.LineOptions{Priority: flotilla.Normal}
	if store != nil {
		job, err := store.Begin(b.Context(), journal.JobSpec{Provider: server.URL, Command: "serve", Kind: journal.KindServe})
		if err != nil {
			b.Fatal(err)
		}
		cfg.Store, opt.Job = store, job.ID
	}
	fleet, err := flotilla.New(cfg)
	if err != nil {
		b.Fatal(err)
	}
	line, err := fleet.Line(b.Context(), opt)
	if err != nil {
		b.Fatal(err)
	}
	body := lineBody()
	header := http.Header{"X-Api-Key": {"mine"}, "Anthropic-Version": {flotilla.DefaultVersion}, "Content-Type": {"application/json"}, "User-Agent": {"x"}}
	benchCalls(b, func() error {
		a, err := line.Do(context.Background(), flotilla.Call{Body: body, Header: header})
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, a.Body)
		_ = a.Body.Close()
		return err
	})
	if err := fleet.Close(); err != nil {
		b.Error(err)
	}
}

// benchCalls makes calls from 32 goroutines.
func benchCalls(b *testing.B, call func() error) {
	b.ReportAllocs()
	if err := call(); err != nil {
		b.Fatal(err)
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	idle := cpu(b)
	b.ResetTimer()
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((cpu(b)-idle).Nanoseconds())/1000/float64(b.N), "cpu-µs/call")
}

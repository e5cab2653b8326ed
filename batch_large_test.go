package flotilla_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// counting takes creates without keeping them: it reads their ids as they pass.
type counting struct {
	mu      sync.Mutex
	sizes   []int64
	ids     map[string][]string
	peak    uint64 // of the heap, while creates are read
	atStart uint64
	at      time.Time
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func (c *counting) RoundTrip(req *http.Request) (*http.Response, error) {
	path := strings.TrimPrefix(req.URL.Path, "/v1/")
	c.mu.Lock()
	defer c.mu.Unlock()
	id := strings.Split(strings.TrimPrefix(path, "messages/batches/"), "/")[0]
	switch {
	case path == "models":
		return reply(req, 200, `{"data":[]}`), nil
	case req.Method == http.MethodPost && path == "messages/batches":
		return c.take(req)
	case strings.HasSuffix(path, "/results"):
		var out bytes.Buffer
		for _, row := range c.ids[id] {
			fmt.Fprintf(&out, `{"custom_id":%q,"result":{"type":"succeeded","message":%s}}`+"\n", row, deskAnswer("ok"))
		}
		return reply(req, 200, out.String()), nil
	case path == "messages/batches":
		return reply(req, 200, `{"data":[],"has_more":false}`), nil
	}
	return c.object(req, id), nil
}

func (c *counting) object(req *http.Request, id string) *http.Response {
	status, counts := "in_progress", fmt.Sprintf(`"processing":%d`, len(c.ids[id]))
	if time.Since(c.at) > 5*time.Minute {
		status, counts = "ended", fmt.Sprintf(`"succeeded":%d`, len(c.ids[id]))
	}
	return reply(req, 200, fmt.Sprintf(`{"id":%q,"type":"message_batch","processing_status":%q,"request_counts":{%s},"created_at":%q}`,
		id, status, counts, c.at.UTC().Format(time.RFC3339)))
}

func (c *counting) take(req *http.Request) (*http.Response, error) {
	id := fmt.Sprint("msgbatch_", len(c.sizes))
	buf := make([]byte, 1<<20)
	size := int64(0)
	for {
		n, err := io.ReadFull(req.Body, buf)
		if size += int64(n); size>>26 != (size-int64(n))>>26 {
			c.peak = max(c.peak, heap())
		}
		rest := buf[:n]
		for { // bodies are one letter over and over: an id cannot be cut without our seeing its beginning
			i := bytes.Index(rest, []byte(`{"custom_id":"`))
			if i < 0 {
				break
			}
			rest = rest[i+len(`{"custom_id":"`):]
			if end := bytes.IndexByte(rest, '"'); end > 0 {
				c.ids[id] = append(c.ids[id], string(rest[:end]))
			}
		}
		if err != nil {
			break
		}
	}
	if size != req.ContentLength {
		return nil, fmt.Errorf("%d bytes were announced, %d came", req.ContentLength, size)
	}
	c.sizes = append(c.sizes, size)
	c.at = time.Now()
	return c.object(req, id), nil
}

// A create of as many bytes as the API takes is never in memory: one row at a
// time is, however many and however long they are.
func TestLargeCreatesAreStreamed(t *testing.T) {
	if testing.Short() {
		t.Skip("hundreds of megabytes")
	}
	synctest.Test(t, func(t *testing.T) {
		c := &counting{ids: map[string][]string{}}
		fleet := newFleet(t, flotilla.Config{
			BaseURL: "http://desk", Orgs: orgs("high"), Ramp: flotilla.RampOff,
			Transport: func(flotilla.Org) http.RoundTripper { return c },
		})
		body := fmt.Appendf(nil, `{"model":"claude-haiku-4-5","max_tokens":50,"messages":[{"role":"user","content":%q}]}`, strings.Repeat("x", 12<<20))
		all := make([][]byte, 30)
		for i := range all {
			all[i] = body
		}
		src := newPile(fleet, all)
		c.atStart = heap()
		carry(t, fleet, src, flotilla.Options{Route: onlyBatches()})
		most := int64(0)
		for _, n := range c.sizes {
			most = max(most, n)
		}
		if most >= wire.MaxBatchBytes || most < wire.MaxBatchBytes/2 {
			t.Errorf("the largest of %d creates has %d bytes", len(c.sizes), most)
		}
		if grown := int64(c.peak) - int64(c.atStart); grown > 80<<20 {
			t.Errorf("the heap grew by %d MB", grown>>20)
		}
	})
}

package lab

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// link is how one org is reached.
type link struct {
	org    *Org
	base   string
	header http.Header
	trip   http.RoundTripper
}

// emulatedHeader is the emulator's mark, speedHeader its clock's speed
// (interface.md, "Emulator" and "Gateway").
const (
	emulatedHeader = "flotilla-emulated"
	speedHeader    = "flotilla-speed"
	ourHeader      = "x-flotilla-org" // a gateway of ours
)

// longest is how long a call may take on the scaled clock: as long as the
// official SDKs wait (facts/claude-api.md 2.5).
const longest = 10 * time.Minute

// maxAnswer bounds an answer held in memory.
const maxAnswer = 16 << 20

func (e *Env) link(o *Org) *link {
	l := &link{org: o, base: strings.TrimRight(cmp.Or(o.BaseURL, e.BaseURL), "/"), header: wire.Header(string(o.Key), e.version(), e.Betas)}
	if e.Transport != nil {
		l.trip = e.Transport(o)
	} else {
		l.trip = newTransport()
	}
	return l
}

// newTransport keeps a connection for every call in flight: what is measured
// must not wait for a handshake.
func newTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() // honours HTTPS_PROXY
	t.MaxIdleConns, t.MaxIdleConnsPerHost, t.MaxConnsPerHost = 0, 1024, 0
	t.DisableCompression = true
	return t
}

func (l *link) close() {
	if c, ok := l.trip.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

func (l *link) request(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Request, error) {
	to := l.base + path
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: the base URL is not one", method, path)
	}
	req.Header, req.GetBody = l.header.Clone(), nil // no replay
	return req, nil
}

// exchange sends one body and records what came. billed says that an answer may
// have been paid for without our knowing how much.
func (b *Bench) exchange(ctx context.Context, s *Shot, body []byte, r *Record) (doubt bool) {
	ctx, cancel := context.WithTimeout(ctx, b.patience())
	defer cancel()
	l := b.links[s.Org]
	if s.Stream {
		body, _ = wire.SpliceStream(body)
	}
	req, err := l.request(ctx, http.MethodPost, "/v1/messages", nil, body)
	if err != nil {
		r.Err = err.Error()
		return false
	}
	req.Close = s.Cold
	r.Sent = b.clock.Now()
	resp, err := l.trip.RoundTrip(req)
	r.FirstByte = b.clock.Now()
	if err != nil {
		r.End, r.Err = r.FirstByte, b.redact(err)
		return true
	}
	defer resp.Body.Close()
	r.Status = resp.StatusCode
	r.Levels = wire.ParseLimits(resp.Header)
	r.Read = readingOf(&r.Levels)
	r.OrgID = resp.Header.Get("anthropic-organization-id")
	if r.Status == http.StatusOK && wire.IsEventStream(resp.Header) {
		doubt = b.readStream(resp, r)
	} else {
		doubt = b.readWhole(resp, r)
	}
	r.End = b.clock.Now()
	return doubt
}

// readWhole reads an answer in one piece, or a refusal.
func (b *Bench) readWhole(resp *http.Response, r *Record) (doubt bool) {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if r.Status != http.StatusOK {
		r.refuse(wire.Classify(r.Status, resp.Header, data), b)
		return false
	}
	m, bad := wire.ReadMessage(data)
	if err = cmp.Or(err, bad); err != nil {
		r.Err = b.redact(err)
		return !errors.Is(err, wire.ErrErrorBody)
	}
	b.answered(r, m)
	return false
}

// readStream reads an answer event by event.
func (b *Bench) readStream(resp *http.Response, r *Record) (doubt bool) {
	var asm wire.Assembler
	_, err := io.Copy(&asm, resp.Body)
	_, m, bad := asm.Finish(nil)
	var broken *wire.StreamError
	if errors.As(bad, &broken) {
		r.refuse(broken.Refusal, b)
		return asm.Started()
	}
	if bad != nil {
		r.Err = b.redact(cmp.Or(err, bad))
		return true
	}
	b.answered(r, m)
	return false
}

func (r *Record) refuse(f wire.Refusal, b *Bench) {
	r.Class, r.Dim, r.RetryAfter = Class{f.Class}, DimName(f.Dim), f.RetryAfter
	r.CeilingNow, r.CeilingNext = f.CeilingNow, f.CeilingNext
	r.Err = b.redact(fmt.Errorf("%s: %s", cmp.Or(f.Type, "no error type"), f.Message))
}

func (b *Bench) answered(r *Record, m wire.MessageFacts) {
	r.Usage = usageOf(m)
	model, _ := b.env.Model(r.Model)
	r.Cost = model.Cost(r.Usage)
}

func usageOf(m wire.MessageFacts) price.Usage {
	u := m.Usage
	return price.Usage{
		Input: u.Input, Output: u.Output, CacheWrite5m: u.CacheWrite5m, CacheWrite1h: u.CacheWrite1h, CacheRead: u.CacheRead,
		US: m.Geo == "us", Fast: m.Speed == "fast", Batch: m.ServiceTier == "batch",
	}
}

// redact takes keys out of a text that others wrote, and its length.
func (b *Bench) redact(err error) string {
	s := err.Error()
	for i := range b.env.Orgs {
		for _, key := range []string{string(b.env.Orgs[i].Key), string(b.env.Orgs[i].Admin)} {
			if key != "" {
				s = strings.ReplaceAll(s, key, "[key]")
			}
		}
	}
	if len(s) > 300 {
		s = s[:300] + "…"
	}
	return s
}

// leastPatience is on the machine's clock: a fast emulator needs real time too.
const leastPatience = 30 * time.Second

// patience is how long one call may take on the machine's clock.
func (b *Bench) patience() time.Duration { return max(leastPatience, b.clock.real(longest)) }

package flotilla

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// OrgInfo is what the free read GET /v1/models said of an org.
type OrgInfo struct {
	Name     string
	ID       string        // anthropic-organization-id
	Emulated string        // "scenario/seed" of an emulator; empty: the provider
	Skew     time.Duration // the server's clock minus ours, to the second
	SameAs   string        // the first org of the same id: this key adds nothing
	Err      error         // why the org cannot be used; *APIError or *TransportError
}

// Usable reports whether calls can be sent with this org's key.
func (i OrgInfo) Usable() bool { return i.Err == nil && i.SameAs == "" }

// ErrNoOrg says that no org can be used; OrgInfo.Err says why of each.
var ErrNoOrg = errors.New("no usable key")

// ErrUnreachable says that no org can be used since none can be reached: the
// network or the base URL is at fault, not the keys.
var ErrUnreachable = errors.New("no org can be reached")

// NoOrgError is why no org can be used. It is ErrNoOrg, and ErrUnreachable
// where that is the reason for all of them.
type NoOrgError struct{ Orgs []OrgInfo }

func (e *NoOrgError) Error() string {
	why := make([]string, len(e.Orgs))
	for i, o := range e.Orgs {
		why[i] = o.Name + ": " + o.Err.Error()
	}
	what := ErrNoOrg
	if e.unreachable() {
		what = ErrUnreachable
	}
	return what.Error() + ": " + strings.Join(why, "; ")
}

// Is makes errors.Is know the two errors it stands for.
func (e *NoOrgError) Is(target error) bool {
	return target == ErrNoOrg || target == ErrUnreachable && e.unreachable()
}

func (e *NoOrgError) unreachable() bool {
	for _, o := range e.Orgs {
		var te *TransportError
		if !errors.As(o.Err, &te) {
			return false
		}
	}
	return true
}

// A SpeedError says that the emulator's clock runs at another speed than ours.
type SpeedError struct{ Server, Client float64 }

func (e *SpeedError) Error() string {
	return fmt.Sprintf("the emulator runs at speed %g, this client at %g", e.Server, e.Client)
}

// ErrOurselves says that the base URL leads back to a flotilla gateway.
var ErrOurselves = errors.New("the base URL is a flotilla gateway: calls would go round in circles")

// Connect learns the id of every org by a free read, once; Dispatch and Carry
// do it by themselves. Orgs that cannot be used are left out of everything that
// follows; the error is a *NoOrgError, a *SpeedError or ErrOurselves, and stands.
// Where ctx ended meanwhile the error is its own, and the next call tries anew.
func (f *Fleet) Connect(ctx context.Context) ([]OrgInfo, error) {
	if f.connected.Load() {
		return f.infos, f.connectErr
	}
	select {
	case f.connecting <- struct{}{}:
		defer func() { <-f.connecting }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if f.connected.Load() {
		return f.infos, f.connectErr
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(f.opening, cancel)()
	f.connectErr = f.connect(reading)
	switch {
	case f.connectErr == nil:
	case f.opening.Err() != nil:
		f.connectErr = ErrClosed
	case ctx.Err() != nil:
		return f.infos, ctx.Err()
	}
	f.connected.Store(true)
	return f.infos, f.connectErr
}

// connect greets every org and, where one can be used, starts the loop.
func (f *Fleet) connect(ctx context.Context) error {
	replies, err := f.greetAll(ctx)
	if err == nil {
		err = f.choose(replies)
	}
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		f.orgs = nil
	}
	for i := range replies {
		if o := replies[i].org; o != nil && !slices.Contains(f.orgs, o) {
			o.closeIdle()
		}
	}
	if err != nil {
		return err
	}
	f.setTime(replies)
	f.launch()
	return nil
}

func (f *Fleet) greetAll(ctx context.Context) ([]hello, error) {
	replies := make([]hello, len(f.cfg.Orgs))
	for i := range f.cfg.Orgs {
		var err error
		if replies[i].org, err = f.newOrg(f.cfg.Orgs[i]); err != nil {
			return replies, err
		}
	}
	var wg sync.WaitGroup
	for i := range replies {
		wg.Go(func() { f.greet(ctx, &replies[i]) })
	}
	wg.Wait()
	return replies, nil
}

// choose sets infos and orgs by what the orgs answered.
func (f *Fleet) choose(replies []hello) error {
	f.infos, f.orgs = nil, nil
	byID := map[string]string{}
	for i := range replies {
		r := &replies[i]
		if r.ourselves {
			return ErrOurselves
		}
		if r.info.Err == nil && r.speed != f.clock.speed {
			return &SpeedError{Server: r.speed, Client: f.clock.speed}
		}
		if first, seen := byID[r.info.ID]; r.info.Err == nil && r.info.ID != "" && seen {
			r.info.SameAs = first
		} else if r.info.Err == nil {
			byID[r.info.ID] = r.info.Name
		}
		f.infos = append(f.infos, r.info)
		if r.info.Usable() {
			f.orgs = append(f.orgs, r.org)
		}
	}
	if len(f.orgs) == 0 {
		return &NoOrgError{Orgs: f.infos}
	}
	return nil
}

// setTime puts the time line where an emulator's clock stands. The provider's
// skew needs no mending: every reading of it is a difference of two of its own
// times.
func (f *Fleet) setTime(replies []hello) {
	for i := range replies {
		if r := &replies[i]; r.info.Usable() && r.info.Emulated != "" && !r.date.IsZero() {
			f.clock.setEpoch(r.date)
			return
		}
	}
}

// hello is the answer to the first read of an org.
type hello struct {
	org       *orgState
	info      OrgInfo
	date      time.Time
	speed     float64
	ourselves bool
}

func (f *Fleet) newOrg(o Org) (*orgState, error) {
	// JoinPath makes a relative path of an empty one: the base ends in a slash.
	base, err := url.Parse(strings.TrimRight(cmp.Or(o.BaseURL, f.cfg.BaseURL), "/") + "/")
	if err != nil {
		return nil, fmt.Errorf("org %s: base URL: %w", o.Name, err)
	}
	s := &orgState{Org: o, known: map[string]bool{}, base: base, messages: base.JoinPath("v1/messages"), header: wire.Header(string(o.Key), f.cfg.Version, f.cfg.Betas)}
	if f.cfg.Transport != nil {
		s.transport = f.cfg.Transport(o)
	} else {
		s.transport = newTransport(base, f.maxConns(), http.ProxyFromEnvironment)
	}
	return s, nil
}

// defaultConns bounds an org's connections: above any window (the etiquette caps
// of all families of an org together), below any sensible file limit.
const defaultConns = 1024

func (f *Fleet) maxConns() int {
	if f.cfg.MaxConns > 0 {
		return f.cfg.MaxConns
	}
	return defaultConns
}

// greet reads one page of models: no tokens, no money. A network that is not
// there yet gets three tries.
func (f *Fleet) greet(ctx context.Context, r *hello) {
	r.info.Name = r.org.Name
	r.speed = 1
	for try := range 3 {
		if try > 0 {
			select {
			case <-ctx.Done():
				return
			case <-time.After(f.clock.real(time.Duration(try) * time.Second)):
			}
		}
		var te *TransportError
		if r.info.Err = f.greetOnce(ctx, r); !errors.As(r.info.Err, &te) {
			return
		}
	}
}

func (f *Fleet) greetOnce(ctx context.Context, r *hello) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	to := r.org.base.JoinPath("v1/models")
	to.RawQuery = "limit=1"
	req, trace := newSend(ctx, http.MethodGet, to, r.org.header, nil)
	resp, err := r.org.transport.RoundTrip(req)
	if err != nil {
		_ = trace.failure(err)
		return &TransportError{Err: fmt.Errorf("reading the models of %s: %s", r.org.Title(), f.redact(err.Error()))}
	}
	defer resp.Body.Close()
	body, err := readBody(resp, maxError)
	if err != nil {
		return &TransportError{Err: fmt.Errorf("reading the models of %s: %s", r.org.Title(), f.redact(err.Error()))}
	}
	h := resp.Header
	r.info.ID = h.Get("anthropic-organization-id")
	r.info.Emulated = h.Get(emulatedHeader)
	r.org.emulated, r.org.id = r.info.Emulated, r.info.ID
	r.ourselves = h.Get(ourHeader) != ""
	if s, err := strconv.ParseFloat(h.Get(speedHeader), 64); err == nil && s > 0 {
		r.speed = s
	}
	if d, err := http.ParseTime(h.Get("Date")); err == nil {
		r.date = d
		r.info.Skew = d.Sub(f.clock.wall(f.clock.now())).Round(time.Second)
		if r.info.Emulated == "" { // else our clock is set by it
			r.org.skew = r.info.Skew
		}
	}
	if resp.StatusCode == http.StatusOK {
		return nil
	}
	refusal := wire.Classify(resp.StatusCode, h, body)
	switch classes[refusal.Class] {
	case sched.Auth, sched.Permission, sched.Credit, sched.Hold, sched.Spend:
		return f.apiError(&refusal, resp.StatusCode, body)
	}
	// Anything else says nothing about the key: an outage, a limit on this
	// endpoint, a proxy that does not pass the path. The calls will tell.
	return nil
}

// Headers by which an emulator makes itself known (interface.md, "Emulator").
const (
	emulatedHeader = "flotilla-emulated"
	speedHeader    = "flotilla-speed"
	ourHeader      = "x-flotilla-org" // a gateway of ours
)

package flotilla

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// A Fleet makes calls over HTTP as fast as its lanes allow. Its methods may be
// called from several goroutines; every Dispatch and Carry is a stream of its
// own, and one core serves them all.
type Fleet struct {
	cfg      Config
	prices   *price.Table
	keyer    *wire.Keyer
	keyers   keyers     // of requests that say otherwise
	affinity affinities // of lines' calls
	keys     *strings.Replacer
	clock    *clock

	connecting chan struct{}   // holds a token while somebody connects
	connected  atomic.Bool     // connectErr, orgs and infos stand
	opening    context.Context // of connecting; ends with Close
	hangUp     context.CancelFunc
	connectErr error
	orgs       []*orgState // those that may be used, after Connect
	infos      []OrgInfo

	// Owned by the loop goroutine once it runs.
	core       *sched.Core
	lanes      []laneState
	pools      map[string]*poolState
	groups     []*group
	calls      map[sched.CallID]*call
	attempts   map[sched.AttemptID]*attempt
	batches    map[sched.BatchID]*batch
	leftBehind map[left]sched.BatchID
	allowances map[Purse]*allowance // by purses that streams of the period have, or had
	lastBatch  sched.BatchID        // numbers of the core's
	lastIntent int64                // numbers of ours: see batchNumber
	streams    []*stream            // that have not ended
	nextStream sched.StreamID
	nextCall   sched.CallID
	models     map[string]int32
	denied     map[string]*answer // what an org without the model last said, by model
	timers     sync.Pool          // of the patience of calls
	parked     bool               // a lane closed: calls of lines may wait in vain
	ledgers    sched.LedgerID     // how many are open; the first is Config.Spend's, where there is one
	fatal      error
	trace      *tracer

	// Scratch of the loop.
	tick      *sched.Tick
	offered   []sched.Call
	due       []sched.Event   // what the core is to be told once a step's actions are carried out
	intent    Record          // of the Persist before a Send
	ending    sched.AttemptID // the attempt that the core is being told the end of; 0: none
	recorded  bool            // its end is in the record of its call's outcome
	nextLease time.Duration

	ctx      context.Context // of every exchange
	stop     context.CancelFunc
	inbox    inbox
	commits  *committer
	running  atomic.Bool // the loop was started
	quitting bool
	done     chan struct{}
	flights  sync.WaitGroup // exchanges under way
	// Each holds a token for what is under way: downloads of results, and creates
	// that are large.
	downloads, uploads chan struct{}
	closing            sync.Once
}

// New makes a Fleet. It sends nothing: the first Connect, Dispatch or Carry does.
func New(cfg Config) (*Fleet, error) {
	if len(cfg.Orgs) == 0 {
		return nil, errors.New("no org: no API key was given (OrgsFromEnv reads ANTHROPIC_API_KEY)")
	}
	// What one provider answers is never taken for another's: orgs that name
	// their base URL decide which it is where Config does not.
	cfg.BaseURL = cmp.Or(cmp.Or(cfg.BaseURL, cfg.Orgs[0].BaseURL), DefaultBaseURL)
	cfg.Version = cmp.Or(cfg.Version, DefaultVersion)
	cfg.Betas = slices.Clone(cfg.Betas)
	if cfg.Prices == nil {
		cfg.Prices = price.Published()
	}
	f := &Fleet{
		cfg:      cfg,
		prices:   cfg.Prices,
		clock:    newClock(cfg.Speed, cfg.clock),
		pools:    map[string]*poolState{},
		calls:    map[sched.CallID]*call{},
		attempts: map[sched.AttemptID]*attempt{},
		batches:  map[sched.BatchID]*batch{},

		leftBehind: map[left]sched.BatchID{},
		allowances: map[Purse]*allowance{},
		models:     map[string]int32{},
		denied:     map[string]*answer{},
		done:       make(chan struct{}),

		connecting: make(chan struct{}, 1),
		downloads:  make(chan struct{}, maxDownloads),
		uploads:    make(chan struct{}, maxUploads),
	}
	provider, err := Provider(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	f.keyer = wire.NewKeyer(provider, cfg.Version, cfg.Betas)
	f.keyers.provider, f.keyers.version = provider, cfg.Version
	f.affinity.init()
	f.inbox.ready = make(chan struct{}, 1)
	f.opening, f.hangUp = context.WithCancel(context.Background())
	if err := cfg.check(); err != nil {
		return nil, err
	}
	for i, o := range cfg.Orgs {
		if o.Key == "" {
			return nil, fmt.Errorf("org %s: the key is empty", o.Name)
		}
		if slices.ContainsFunc(cfg.Orgs[:i], func(p Org) bool { return p.Name == o.Name }) {
			return nil, fmt.Errorf("two orgs are named %s", o.Name)
		}
	}
	f.keys = hideKeys(cfg.Orgs)
	return f, nil
}

// Close ends the fleet: streams that still run are interrupted, what is in
// flight may drain for as long as each stream's Options say, and what has
// settled is durable when it returns. A reader of results that has not taken
// them by then is not waited for. The error is the store's, if it failed.
func (f *Fleet) Close() error {
	f.hangUp()
	f.connecting <- struct{}{}
	if !f.connected.Load() {
		f.connectErr = ErrClosed
		f.connected.Store(true)
	}
	<-f.connecting
	f.closing.Do(func() {
		if !f.running.Load() {
			close(f.done)
			return
		}
		f.inbox.put(message{run: f.closeDown})
	})
	<-f.done
	return f.fatal
}

// Weigh reads the facts out of a body. The error says what is wrong with the
// body, or that its model is unknown (*UnknownModelError).
func (f *Fleet) Weigh(body []byte) (Facts, error) {
	return f.weigh(body, f.keyer, false)
}

// Provider names whose answers a base URL gives: scheme, host and port. It is
// part of every cache key and job identity.
func Provider(baseURL string) (string, error) {
	u, err := url.Parse(baseURL)
	if err != nil {
		return "", fmt.Errorf("base URL: %w", err)
	}
	port := u.Port()
	switch {
	case u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return "", fmt.Errorf("base URL %q: it is no http or https address", u.Redacted())
	case port == "" && u.Scheme == "https":
		port = "443"
	case port == "":
		port = "80"
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port), nil
}

// orgState is an org in use.
type orgState struct {
	Org
	id        string
	skew      time.Duration   // its clock minus ours
	known     map[string]bool // batches that a stream of this fleet holds or held for its own, by their ids
	base      *url.URL
	messages  *url.URL
	header    http.Header
	transport http.RoundTripper
	emulated  string
	closed    atomic.Bool // its account takes no calls
}

// redact takes an org's key out of a text that came from elsewhere, so that no
// error, log or trace can carry it.
func (f *Fleet) redact(s string) string { return f.keys.Replace(s) }

// hideKeys makes what redact does. A key may begin with another one.
func hideKeys(orgs []Org) *strings.Replacer {
	orgs = slices.Clone(orgs)
	slices.SortFunc(orgs, func(a, b Org) int { return len(b.Key) - len(a.Key) })
	var pairs []string
	for _, o := range orgs {
		pairs = append(pairs, string(o.Key), "[key]")
	}
	return strings.NewReplacer(pairs...)
}

// connectTimeout bounds the free read that opens an org.
const connectTimeout = 30 * time.Second

package dashboard

import (
	"context"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// Config says what is shown. Journal is needed; everything else may be missing,
// and is then null in what is shown.
type Config struct {
	// Snapshot is Fleet.Snapshot; nil: there is no fleet in this process, the
	// journal alone is shown.
	Snapshot func(ctx context.Context) (flotilla.Snapshot, error)
	Journal  *journal.Journal

	LabDir     string // results of experiments; empty: none are shown
	Figures    string // figures that report drew; empty: those of the results are drawn here
	Guidelines string // the document of report; empty: none is shown
	Profile    string // the file of report; empty: profile.json beside the journal

	// Live gives the rows of a job that runs in this process, by the job's short
	// id; nil: none does.
	Live func(jobKey string) (job.RowReader, bool)
	// Pause holds a lane, or lets it go on; nil: lanes cannot be held.
	Pause func(org, pool, tier string, paused bool) error
	// Clients are the gateway's; nil: there is no gateway.
	Clients func(ctx context.Context) []ClientState
	// Held says what a job waits for that the gateway takes up again by itself:
	// "cap", "budget", "closed" (its lanes are), "elsewhere" (another process has
	// it) or "fault"; empty: it does not wait. nil: there is no gateway.
	Held func(job int64) string
	// Pot is the money that everything in this process shares; nil: there is no
	// common cap.
	Pot *flotilla.Pot

	Version  string
	Provider string  // scheme, host and port, as flotilla.Provider gives it; empty: that of the newest job
	Emulated string  // mark of the emulator, "scenario/seed"; empty: the real provider
	Speed    float64 // scaled seconds in a real one, against an emulator; 0: 1
	Mode     string  // serve, run or view

	Now  func() time.Time // the machine's clock; nil: time.Now
	Base string           // path that everything lies under; empty: "/"

	// Hosts are further names by which this machine may be asked on loopback,
	// besides localhost and addresses.
	Hosts []string
}

// ClientState is a client of the gateway as it stands.
type ClientState struct {
	Name        string
	Priority    flotilla.Priority
	Weight      float64
	Queued      int // calls that wait
	InFlight    int
	SpentToday  *flotilla.Money // since local midnight, worst cases in doubt included; nil: not known
	LimitPerDay flotilla.Money  // 0: none
	Calls       int64           // since this process began
}

// Dashboard answers requests for pages and their data. It is an http.Handler.
type Dashboard struct {
	cfg    Config
	base   string // ends with a slash
	began  time.Time
	handle http.Handler

	series *series
	calls  *callLog
	hub    *hub
	jobs   *jobDesk
	lab    *labShelf
	states stateCache

	seen atomic.Pointer[flotilla.Snapshot] // the last one; nil: none yet
	stop context.CancelFunc
	done chan struct{}
}

// New starts a dashboard, which looks at the fleet once a second until Close.
// The context's end ends it too.
func New(ctx context.Context, cfg Config) (*Dashboard, error) {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Speed <= 0 {
		cfg.Speed = 1
	}
	d := &Dashboard{
		cfg: cfg, base: "/" + strings.Trim(cfg.Base, "/"), began: cfg.Now(),
		series: newSeries(), calls: newCallLog(), hub: newHub(), jobs: newJobDesk(&cfg), lab: &labShelf{},
		done: make(chan struct{}),
	}
	if d.base != "/" {
		d.base += "/"
	}
	d.handle = d.guard(d.routes())
	ctx, d.stop = context.WithCancel(ctx)
	go d.watch(ctx)
	return d, nil
}

// Close ends what runs in the background and all event streams.
func (d *Dashboard) Close() {
	d.stop()
	<-d.done
}

// ServeHTTP answers one request.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) { d.handle.ServeHTTP(w, r) }

// Observe takes in one attempt that ended. It does not block: Config.Observe of
// a fleet.
func (d *Dashboard) Observe(o flotilla.Observation) {
	now := d.cfg.Now()
	d.series.observe(now, &o)
	d.calls.observe(now, &o, d.seen.Load())
}

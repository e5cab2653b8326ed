package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// batches serves the Message Batches API (facts/claude-api.md 4). A batch that a
// client creates is a job of internal/job on the gateway's own fleet: its
// requests lie in a file, what has settled in the journal, and it goes on when
// another gateway starts on the same journal.
type batches struct {
	cfg     *Config
	journal *journal.Journal
	log     *slog.Logger
	now     func() time.Time
	files   spoolDir
	realm   journal.Realm
	step    func(at string) // told of each durable step

	ctx   context.Context // of all runs
	stop  context.CancelFunc
	work  sync.WaitGroup
	turns batchTurns

	draining atomic.Bool

	cache *cache // answers of earlier runs; nil: none are used

	mu        sync.Mutex
	runs      map[string]*batchRun
	inherited map[string]bool // batches of earlier gateways, not given to anybody again
}

// batchStep is told of each durable step of batches; tests put theirs here.
var batchStep = func(at string) {}

// batchesPath is where the API has them.
const batchesPath = "/v1/messages/batches"

// newBatches makes the handler of everything under batchesPath, and lets go on
// what earlier gateways have not ended.
func newBatches(ctx context.Context, cfg *Config) (*batches, error) {
	b := &batches{
		cfg: cfg, journal: cfg.Journal, log: cfg.Log, now: cfg.Now, files: spoolDir(cfg.Spool),
		realm: journal.Realm{Provider: cfg.Provider, Emulated: cfg.Emulated},
		step:  batchStep, runs: map[string]*batchRun{}, inherited: map[string]bool{},
	}
	return b, b.begin(ctx)
}

// begin clears up and carries on.
func (b *batches) begin(ctx context.Context) error {
	if err := os.MkdirAll(string(b.files), 0o700); err != nil {
		return fmt.Errorf("directory of batches: %w", err)
	}
	b.ctx, b.stop = context.WithCancel(context.WithoutCancel(ctx))
	if err := b.sweep(ctx); err != nil {
		return err
	}
	err := b.adopt(ctx, func(id string) { b.inherited[id] = true })
	if err != nil {
		return err
	}
	b.work.Go(b.sweeping)
	return nil
}

// adopt lets every batch go on that has not ended, the oldest first. One that
// another gateway carries is waited for.
func (b *batches) adopt(ctx context.Context, found func(id string)) error {
	list, err := b.journal.ClientBatches(ctx, "")
	if err != nil {
		return err
	}
	for i := len(list) - 1; i >= 0; i-- {
		if r := &list[i]; r.Realm == b.realm && r.Ended.IsZero() && r.Deleted.IsZero() {
			found(r.ID)
			b.start(r)
		}
	}
	return nil
}

// held says what the batch waits for whose job is not being run: "budget",
// "closed" (its lanes are), "elsewhere" (another process carries it) or "fault".
// Empty: it is being run, or is none of ours.
func (b *batches) held(job int64) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, run := range b.runs {
		if run.job.Load() == job && job != 0 {
			why, _ := run.waits.Load().(string)
			return why
		}
	}
	return ""
}

// drain refuses creates from now on. Batches go on, and may be asked for.
func (b *batches) drain() { b.draining.Store(true) }

// close ends the runs; what they have not done goes on when a gateway starts on
// the journal again. It waits for what is in flight, or for the context.
func (b *batches) close(ctx context.Context) error {
	b.drain()
	b.mu.Lock()
	b.stop()
	b.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.work.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ServeHTTP answers what a path and a method ask for.
func (b *batches) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	recordOf(r.Context()).Route = "batches"
	if e := b.serve(w, r); e != nil {
		turnDown(w, r, e)
	}
}

func (b *batches) serve(w http.ResponseWriter, r *http.Request) *apiError {
	id, verb, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, batchesPath), "/"), "/")
	switch r.Method + " " + verb {
	case "POST ":
		if id == "" {
			return b.create(w, r)
		}
	case "GET ":
		if id == "" {
			return b.list(w, r)
		}
		return b.show(w, r, id)
	case "DELETE ":
		if id != "" {
			return b.remove(w, r, id)
		}
	case "POST cancel":
		return b.cancel(w, r, id)
	case "GET results":
		return b.results(w, r, id)
	}
	return &apiError{status: http.StatusNotFound, kind: kindNotFound, message: "Not found"}
}

// found is a batch of the caller's. Another's answers as one that never was
// (facts/claude-api.md 4.5).
func (b *batches) found(ctx context.Context, id string) (journal.ClientBatch, *apiError) {
	rec, ok, err := b.journal.ClientBatch(ctx, id)
	if err != nil {
		return rec, b.broken(ctx, err)
	}
	if !ok || rec.Client != CallerOf(ctx).Name || rec.Realm != b.realm || !rec.Deleted.IsZero() {
		return rec, missingBatch(id)
	}
	b.age(&rec)
	return rec, nil
}

func missingBatch(id string) *apiError {
	return &apiError{status: http.StatusNotFound, kind: kindNotFound, message: "Message Batch " + id + " not found."}
}

// broken is a fault of ours: the log has it, the client hears that there is one.
func (b *batches) broken(ctx context.Context, err error) *apiError {
	recordOf(ctx).Cause = err
	return &apiError{status: http.StatusInternalServerError, kind: kindAPI, message: "Internal server error"}
}

// change lets what the journal says of a batch be changed, where change says that
// it was. Nobody changes the batch meanwhile, in this process or another.
func (b *batches) change(id string, change func(*journal.ClientBatch) bool) (journal.ClientBatch, error) {
	return b.journal.ChangeClientBatch(context.Background(), id, change) // what was begun is written
}

// potsOf are the pots that a caller's batches draw on.
func (b *batches) potsOf(ctx context.Context, caller Caller) (shared, own []*flotilla.Pot, err error) {
	if b.cfg.PotsOf != nil {
		own, err = b.cfg.PotsOf(ctx, caller)
	}
	return b.cfg.Pots, own, err
}

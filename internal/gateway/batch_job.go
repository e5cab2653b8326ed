package gateway

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/journal"
)

// longerThanLife is how long a batch waits for closed lanes: its own end comes
// first.
const longerThanLife = batchLife + time.Hour

// config is the batch as a job. Nothing of a request is filled in or refused: it
// goes as its client wrote it, and what the API has against it is its result.
func (run *batchRun) config(ctx context.Context, rec *journal.ClientBatch) (job.Config, *latePurse, error) {
	b := run.b
	shared, own, err := b.potsOf(ctx, Caller{Name: rec.Client})
	if err != nil {
		return job.Config{}, nil, err
	}
	route := routeOf(rec, b.cfg.Prefer, b.cfg.PreferGiven)
	purse := &latePurse{}
	cfg := job.Config{
		Inputs:  []string{b.files.name(rec.ID, endRows)},
		Shape:   job.Shape{Provider: rec.Realm.Provider, Version: versionOr(rec.Version), Betas: rec.Betas},
		Output:  job.Output{Path: b.files.name(rec.ID, endOut), Overwrite: true},
		SkipBad: true, AsIs: true, NoCache: true,
		Client: rec.Client, Kind: journal.KindBatch, Salt: []byte(rec.ID),
		Dir: string(b.files), Command: "batch " + rec.ID + " of " + rec.Client,
		Emulated: rec.Realm.Emulated, Prices: b.cfg.Prices, Now: b.now,
		Say: func(text string) { b.log.Info(text, "batch", rec.ID) },
		Options: flotilla.Options{
			Version: rec.Version, Betas: rec.Betas,
			Client: rec.Client, Priority: priorityOf(rec), Weight: rec.Weight, Route: &route,
			Pots:    append(append([]*flotilla.Pot(nil), shared...), own...),
			MaxWait: longerThanLife, MaxWaitDaily: longerThanLife,
		},
	}
	if b.cfg.PurseOf != nil {
		purse.make = b.cfg.PurseOf
		cfg.Options.Purse = purse
	}
	return cfg, purse, nil
}

func versionOr(version string) string {
	if version == "" {
		return flotilla.DefaultVersion
	}
	return version
}

// latePurse is a purse of a job that is not begun when it is asked to have one.
type latePurse struct {
	make  func(job int64) flotilla.Purse
	purse atomic.Pointer[flotilla.Purse]
}

func (p *latePurse) of(id int64) {
	if p.make != nil {
		made := p.make(id)
		p.purse.Store(&made)
	}
}

// Grant implements flotilla.Purse. A job asks for money once it has begun.
func (p *latePurse) Grant(ctx context.Context, want flotilla.Money) (granted flotilla.Money, until time.Time, err error) {
	return (*p.purse.Load()).Grant(ctx, want)
}

// batchFleet is the gateway's fleet for the rows of one batch: they go with the
// version and the betas of their create, and none goes once the batch is ending.
type batchFleet struct {
	*flotilla.Fleet
	run     *batchRun
	version string
	betas   []string
}

// Weigh implements job.Weigher.
func (f *batchFleet) Weigh(body []byte) (flotilla.Facts, error) {
	return f.WeighAs(body, f.version, f.betas)
}

// Carry implements job.Fleet. A batch that is ending waits for its job to hear of
// it, which takes a second at most, and is told to end what it has out.
func (f *batchFleet) Carry(ctx context.Context, src flotilla.Source, opt flotilla.Options) (flotilla.Report, error) {
	if !opt.CancelBatches && f.run.ending() {
		<-ctx.Done()
		now := f.Now()
		return flotilla.Report{Cause: flotilla.Interrupted, Started: now, Ended: now}, nil
	}
	return f.Fleet.Carry(ctx, src, opt)
}

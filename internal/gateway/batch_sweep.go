package gateway

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// How often results past their time are looked for, and batches that a gateway
// beside this one has taken: it may die, and nothing would tell.
const (
	sweepEvery = 24 * time.Hour
	adoptEvery = 2 * time.Minute
)

func (b *batches) sweeping() {
	sweep, adopt := time.NewTicker(sweepEvery), time.NewTicker(adoptEvery)
	defer sweep.Stop()
	defer adopt.Stop()
	for {
		var what string
		var err error
		select {
		case <-sweep.C:
			what, err = "old batches are not swept", b.sweep(b.ctx)
		case <-adopt.C:
			what, err = "batches of other gateways are not looked at", b.adopt(b.ctx, func(string) {})
		case <-b.ctx.Done():
			return
		}
		if err != nil && b.ctx.Err() == nil {
			b.log.Error(what, "fault", err)
		}
	}
}

// sweep takes away the files of batches that were deleted, whose results are past
// their time, or that came to nothing: a create that broke off before the journal
// knew of it, of which no client has heard.
func (b *batches) sweep(ctx context.Context) error {
	ids, err := b.files.ids()
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		rec, ok, err := b.journal.ClientBatch(ctx, id)
		if err != nil {
			return err
		}
		if ok && b.age(&rec) {
			rec, err = b.change(id, b.age)
			errs = append(errs, err)
		}
		switch {
		case !ok:
			errs = append(errs, b.sweepLeftover(ctx, id))
		case !rec.Deleted.IsZero(), !rec.Archived.IsZero():
			errs = append(errs, b.files.remove(id))
		}
	}
	return errors.Join(errs...)
}

// sweepLeftover removes files that no batch belongs to, unless somebody is about
// to make one of them.
func (b *batches) sweepLeftover(ctx context.Context, id string) error {
	f, err := os.OpenFile(b.files.name(id, endRows), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return b.files.remove(id)
	} else if err != nil {
		return err
	}
	defer f.Close()
	if lockFile(f) {
		return nil
	}
	var known bool
	if _, known, err = b.journal.ClientBatch(ctx, id); err != nil || known {
		return err // it came to be meanwhile
	}
	return b.files.remove(id)
}

package journal

import "context"

// read runs fn on the reading connection; all it reads is of one moment.
func (j *Journal) read(ctx context.Context, doing string, fn func(*link) error) error {
	return j.readOne(ctx, doing, func(l *link) error {
		return l.snapshot(func() error { return fn(l) })
	})
}

// readOne is read for one statement, which is of one moment by itself: two
// statements the less.
func (j *Journal) readOne(ctx context.Context, doing string, fn func(*link) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.r.mu.Lock()
	defer j.r.mu.Unlock()
	if j.shut.Load() {
		return ErrClosed
	}
	return classify(doing, j.path, fn(j.r))
}

package journal

import "context"

// read runs fn on the reading connection; all it reads is of one moment.
func (j *Journal) read(ctx context.Context, doing string, fn func(*link) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	j.r.mu.Lock()
	defer j.r.mu.Unlock()
	if j.shut.Load() {
		return ErrClosed
	}
	return classify(doing, j.path, j.r.snapshot(func() error { return fn(j.r) }))
}

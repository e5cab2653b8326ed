package journal

import (
	"context"
	"errors"
	"fmt"
)

// ErrCanceled is the error of a signal to a job that was asked to end.
var ErrCanceled = errors.New("it is being canceled")

// Signal is what a person asked of a job that some process runs.
type Signal int

// Signals.
const (
	Go     Signal = iota // nothing, or: go on
	Pause                // send nothing new
	Cancel               // settle what is pending as canceled, and end
)

// Signal leaves word for the process that runs a job; it reads it by
// [Journal.Signals]. The next Begin forgets it. A Cancel stands: nothing asked
// for after it takes its place, or a pause that comes before the process looks
// would let the job wait for ever; the error is [ErrCanceled].
func (j *Journal) Signal(ctx context.Context, job int64, s Signal) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return j.write(fmt.Sprintf("signal job %d", job), func() error {
		was, err := j.w.number("SELECT signal FROM job WHERE id = ?", job)
		if err != nil {
			return err
		}
		if Signal(was) == Cancel && s != Cancel {
			return ErrCanceled
		}
		n, err := j.w.exec("UPDATE job SET signal = ? WHERE id = ?", int(s), job)
		if err == nil && n == 0 {
			err = noJob(job)
		}
		return err
	})
}

// Signals reads what was last asked of a job. It is one look-up by number: a
// running process may ask every second.
func (j *Journal) Signals(ctx context.Context, job int64) (s Signal, err error) {
	err = j.read(ctx, "read signals", func(l *link) error {
		n, err := l.number("SELECT signal FROM job WHERE id = ?", job)
		s = Signal(n)
		return err
	})
	return s, err
}

package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// exitInterrupted is the exit code after a signal.
const exitInterrupted = 130

// lastWords is how long a command may take to end after the second signal:
// enough to close a file, too short to be noticed.
const lastWords = 300 * time.Millisecond

// errInterrupted is the cause of a context that a signal cancelled.
var errInterrupted = errors.New("interrupted")

// signaled is the cause with the signal that it was.
type signaled struct{ os.Signal }

func (s signaled) Error() string { return errInterrupted.Error() + " by " + s.String() }

// Is makes it an errInterrupted.
func (s signaled) Is(target error) bool { return target == errInterrupted }

// signalOf is the signal that cancelled a context; nil: none did.
func signalOf(ctx context.Context) os.Signal {
	var s signaled
	errors.As(context.Cause(ctx), &s)
	return s.Signal
}

// notified delivers the signals that end a run. One that was ignored when the
// program started stays so: that is what nohup means.
func notified() <-chan os.Signal {
	sigs := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) {
			signal.Notify(sigs, s)
		}
	}
	return sigs
}

// keepOnBrokenPipe lets the writing to a pipe that nobody reads any more fail,
// until stop, where it would end the process at once: calls in flight are paid
// for, and their answers are still wanted.
func keepOnBrokenPipe() (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGPIPE)
	return func() { signal.Stop(c) }
}

type stopKey struct{}

// stopNow is closed when a second signal says that nothing is worth waiting
// for. Without signals it is nil and never fires.
func stopNow(ctx context.Context) <-chan struct{} {
	stop, _ := ctx.Value(stopKey{}).(chan struct{})
	return stop
}

// interruptible runs f under a context that the first signal cancels. After a
// second one f has a moment to end by itself; then its work is left as a crash
// would leave it, which the journal is made for.
func interruptible(sigs <-chan os.Signal, f func(context.Context) int) int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	stop := make(chan struct{})
	done := make(chan int, 1)
	go func() { done <- f(context.WithValue(ctx, stopKey{}, stop)) }()
	select {
	case code := <-done:
		return code
	case s := <-sigs:
		cancel(signaled{s})
	}
	select {
	case code := <-done:
		return code
	case <-sigs:
		close(stop)
	}
	select {
	case code := <-done:
		return code
	case <-time.After(lastWords):
		return exitInterrupted
	}
}

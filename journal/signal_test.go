package journal

import (
	"errors"
	"testing"
)

// A cancel that the process has not read yet stands against what is asked for
// after it, until the job is begun again.
func TestCancelStands(t *testing.T) {
	j := Memory()
	defer j.Close()
	job := big(t, j, 1, 3)
	for _, s := range []Signal{Pause, Go, Pause, Cancel, Cancel} {
		if err := j.Signal(t.Context(), job.ID, s); err != nil {
			t.Fatal(s, err)
		}
	}
	for _, s := range []Signal{Pause, Go} {
		if err := j.Signal(t.Context(), job.ID, s); !errors.Is(err, ErrCanceled) {
			t.Errorf("signal %d after a cancel: %v", s, err)
		}
	}
	if s, err := job.Signal(t.Context()); err != nil || s != Cancel {
		t.Errorf("it reads %d, %v", s, err)
	}
	if err := job.End(t.Context(), Stopped, nil); err != nil {
		t.Fatal(err)
	}
	again, err := j.Begin(t.Context(), JobSpec{Identity: [32]byte{1}, N: 3})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := again.Signal(t.Context()); err != nil || s != Go {
		t.Errorf("begun again it reads %d, %v", s, err)
	}
	if err := j.Signal(t.Context(), 99, Pause); err == nil {
		t.Error("a job that is not there takes a signal")
	}
}

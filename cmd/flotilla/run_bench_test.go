//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla/internal/job/sample"
)

// BenchmarkPersona measures the large job over the program itself, in a process
// of its own, and a second run of it. Each figure stands beside its bound:
//
//	wall/polite   scaled wall-clock time over the polite bound; at most 1.15 (rows=141600, speed 20, two free cores)
//	MB            peak resident memory; under 300, and at four times the rows at most 100 more
//	again-s       a second run of the finished job; under 6 (rows=141600)
//
// Run it by: go test ./cmd/flotilla -run xxx -bench Persona -benchtime 1x
func BenchmarkPersona(b *testing.B) {
	for _, size := range []struct {
		rows  int
		speed float64
	}{{141_600, 20}, {566_400, 60}} {
		b.Run(fmt.Sprintf("rows=%d", size.rows), func(b *testing.B) {
			for b.Loop() {
				benchPersona(b, size.rows, size.speed)
			}
		})
	}
}

func benchPersona(b *testing.B, rows int, speed float64) {
	w := newWorld(b, "default", speed)
	input := sample.Path(b, sample.Persona)
	if rows != 141_600 {
		input = w.path("rows.jsonl")
		if err := writePersona(input, rows); err != nil {
			b.Fatal(err)
		}
	}
	args := w.args(input, personaArgs()...)
	mb, took := w.measured(args)
	s := w.summary()
	if s.Succeeded != rows || s.RateLimited.Total() != 0 {
		b.Errorf("%d of %d succeeded, %d rate-limited", s.Succeeded, rows, s.RateLimited.Total())
	}
	_, again := w.measured(args)
	b.ReportMetric(s.WallS/s.PoliteBoundS, "wall/polite(max=1.15)")
	b.ReportMetric(mb, "MB(max=300)") // of both sizes, and at most 100 apart
	b.ReportMetric(took.Seconds(), "s")
	if rows == 141_600 {
		b.ReportMetric(again.Seconds(), "again-s(max=6)")
	} else {
		b.ReportMetric(again.Seconds(), "again-s")
	}
	b.ReportMetric(float64(rows)/took.Seconds(), "calls/s")
}

func writePersona(path string, rows int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(sample.PersonaRows(f, rows), f.Close())
}

// measured runs the program in a process of its own and gives its peak memory
// and its time.
func (w *world) measured(args []string) (mb float64, took time.Duration) {
	w.t.Helper()
	cmd := exec.Command("flotilla", args...)
	cmd.Env = w.environ()
	cmd.Stderr = new(bytes.Buffer)
	began := time.Now()
	if err := cmd.Run(); err != nil {
		w.t.Fatalf("%v\n%s", err, cmd.Stderr)
	}
	took = time.Since(began)
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		mb = float64(usage.Maxrss) / 1024
		if runtime.GOOS == "darwin" {
			mb /= 1024 // bytes there, kilobytes elsewhere
		}
	}
	return mb, took
}

package route

import (
	"testing"
	"time"
)

func TestRescueAt(t *testing.T) {
	const d = 8 * time.Hour
	for _, c := range []struct {
		name             string
		unfinished, rate float64
		want             time.Duration
	}{
		{"nothing is left", 0, 10, d},
		{"an hour's worth", 36_000, 10, d - time.Hour - 30*time.Second - 40*time.Second - CancelTime},
		{"too late already", 360_000, 10, -2*time.Hour - 30*time.Second - 40*time.Second - CancelTime},
		{"sync is closed", 1, 0, -Never},
	} {
		if got := RescueAt(d, c.unfinished, c.rate, 30*time.Second, 40*time.Second, CancelTime); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestKeep(t *testing.T) {
	split := func(sync, a, b float64) Split {
		return Split{Sync: [][]float64{{sync, 0}}, Batch: [][]float64{{a, b}}}
	}
	old := split(100, 450, 450)
	for _, c := range []struct {
		name string
		now  Split
		want bool
	}{
		{"the same", old, true},
		{"a twentieth less a row moves", split(149, 401, 450), true},
		{"a twentieth moves", split(150, 400, 450), false},
		{"between orgs", split(100, 400, 500), false},
		{"the job has shrunk", split(100, 300, 300), true},
		{"nothing is left", split(0, 0, 0), true},
	} {
		if got := Keep(old, c.now); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
	if Keep(Split{}, old) {
		t.Error("there was no old one")
	}
}

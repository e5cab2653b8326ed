package plot

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

var window = rect{10, 20, 110, 80}

func place(t *rapid.T, name string) pt {
	return pt{rapid.Float64Range(-50, 200).Draw(t, name+".x"), rapid.Float64Range(-50, 200).Draw(t, name+".y")}
}

func within(p pt, r rect) bool {
	const eps = 1e-6
	return p.x >= r.x0-eps && p.x <= r.x1+eps && p.y >= r.y0-eps && p.y <= r.y1+eps
}

func length(points []pt) (sum float64) {
	for i := 1; i < len(points); i++ {
		sum += math.Hypot(points[i].x-points[i-1].x, points[i].y-points[i-1].y)
	}
	return sum
}

// The slow twin walks along the line in small steps and counts those inside.
func TestClipLineKeepsWhatIsInside(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := []pt{place(t, "a"), place(t, "b"), place(t, "c")}
		kept := 0.0
		for _, piece := range clipLine(line, window) {
			for _, p := range piece {
				if !within(p, window) {
					t.Fatalf("%v lies outside", p)
				}
			}
			kept += length(piece)
		}
		const steps = 4000
		slow := 0.0
		for i := 1; i < len(line); i++ {
			a, b := line[i-1], line[i]
			for k := range steps {
				u := (float64(k) + .5) / steps
				if within(pt{a.x + u*(b.x-a.x), a.y + u*(b.y-a.y)}, window) {
					slow += length([]pt{a, b}) / steps
				}
			}
		}
		if math.Abs(kept-slow) > 1 {
			t.Fatalf("kept %.2f pixels of line, want %.2f", kept, slow)
		}
	})
}

func area2(points []pt) (sum float64) {
	for i, p := range points {
		q := points[(i+1)%len(points)]
		sum += p.x*q.y - q.x*p.y
	}
	return sum / 2
}

func TestClipPolygonOfRectangles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := place(t, "a"), place(t, "b")
		r := rect{min(a.x, b.x), min(a.y, b.y), max(a.x, b.x), max(a.y, b.y)}
		if got, want := math.Abs(area2(clipPolygon(r.corners(), window))), r.shared(window); math.Abs(got-want) > 1e-6 {
			t.Fatalf("%v: area %.3f, want %.3f", r, got, want)
		}
	})
}

// Overlapping pieces of an outline must not cancel under the winding rule.
func TestOutlinesRunOneWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := []pt{place(t, "a"), place(t, "b"), place(t, "c")}
		for _, p := range outline(line, rapid.Bool().Draw(t, "closed"), 3) {
			if area2(p) < 0 {
				t.Fatalf("%v runs the other way", p)
			}
		}
	})
}

func TestDashes(t *testing.T) {
	pieces := dashes([]pt{{0, 0}, {7, 0}, {7, 13}}, []float64{6, 4})
	sum := 0.0
	for _, p := range pieces {
		sum += length(p)
	}
	if len(pieces) != 2 || sum != 12 {
		t.Errorf("20 pixels in dashes of 6 by 4 are %d pieces of %.1f in all: %v; want 2 of 12", len(pieces), sum, pieces)
	}
	if whole := dashes([]pt{{0, 0}, {7, 0}}, []float64{0, 0}); len(whole) != 1 || length(whole[0]) != 7 {
		t.Errorf("an empty pattern leaves %v", whole)
	}
}

package plot

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func (w *words) rect() rect {
	x := w.left()
	return rect{x, w.at.y - w.size*.8, x + w.width(), w.at.y + w.size*.2}
}

// A few lines with names, a limit and a knee, anywhere: everything is written
// inside the figure and nothing over something else.
func TestLabelsMakeWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := &Figure{Title: "t", Panels: []Panel{{X: Axis{Label: "x"}, Y: Axis{Label: "y"}}}}
		p := &f.Panels[0]
		y := rapid.Float64Range(1, 100)
		lines := rapid.IntRange(1, 5).Draw(t, "lines")
		for i := range lines {
			p.Layers = append(p.Layers, Line{Label: fmt.Sprintf("series %d", i), Ink: Series(i), Points: []Point{
				{1, y.Draw(t, "a")}, {50, y.Draw(t, "b")}, {100, y.Draw(t, "c")},
			}})
		}
		p.Layers = append(
			p.Layers,
			Rule{At: y.Draw(t, "limit"), Label: "the limit of 1,000"},
			Rule{At: y.Draw(t, "knee"), Upright: true, Label: "knee 97"},
			Note{X: y.Draw(t, "note x"), Y: y.Draw(t, "note y"), Text: "a remark"},
		)
		s, err := f.lay()
		if err != nil {
			t.Fatal(err)
		}
		var all []words
		labels := 0
		for _, it := range s.items {
			if it.words != nil {
				all = append(all, *it.words)
				if it.words.halo {
					labels++
				}
			}
		}
		if labels != lines+3 {
			t.Fatalf("%d labels for %d", labels, lines+3)
		}
		for i := range all {
			r := all[i].rect()
			if r.x0 < 0 || r.y0 < 0 || r.x1 > s.wide || r.y1 > s.high {
				t.Fatalf("%q at %v leaves the figure of %v by %v", all[i].text, r, s.wide, s.high)
			}
			for j := range i {
				if o := all[j].rect(); r.shared(o) > 0 {
					t.Fatalf("%q at %v and %q at %v overlap", all[i].text, r, all[j].text, o)
				}
			}
		}
	})
}

func TestFarLabelsHaveLeaders(t *testing.T) {
	a := &area{scene: &scene{}, outer: rect{0, 0, 400, 300}, rect: rect{0, 0, 400, 300}}
	for range 12 {
		a.askAround("the same place", Black, pt{200, 150})
	}
	a.place(a.outer)
	leaders := 0
	for _, it := range a.items {
		if it.shape != nil {
			leaders++
		}
	}
	if leaders == 0 {
		t.Error("twelve labels of one place, and none has a line that leads there")
	}
}

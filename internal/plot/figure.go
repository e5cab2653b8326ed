package plot

import (
	"errors"
	"fmt"
)

// Figure is a picture for people.
type Figure struct {
	Title    string // what was found, as a sentence; wrapped
	Subtitle string // what is drawn, of what, how often; wrapped
	Foot     string // where it comes from: date, window, emulator or provider; wrapped
	Panels   []Panel

	Columns      int  // panels in a row; 0: one for up to two panels, two for four, else three
	SameX, SameY bool // all panels have the widest range of that direction
	Width        int  // in pixels; 0: 860. The PNG has two of its own for each
	PanelHeight  int  // in pixels; 0: by what the panels hold
}

// Panel is one plot of a figure. Panels of a sheet are small multiples: they
// have titles and mostly the same axes.
type Panel struct {
	Title  string
	X, Y   Axis
	Layers []Layer // drawn in order, labels on top
}

// Layer is something drawn in a panel. It is one of the types of this package.
type Layer interface {
	see(*reach)    // widens it by what the layer holds
	draw(*area)    // paints it, and asks for labels
	tails() []tail // the labels that like to stand right of the plot
}

// tail is a label beside the value x.
type tail struct {
	x    float64
	text string
}

// SVG draws the figure as SVG. Its text is text, to be searched and read aloud.
// It is an error that a figure has no panel, and that a value cannot stand on
// its axis: none is left out silently. NaN is a gap.
func (f *Figure) SVG() ([]byte, error) {
	s, err := f.lay()
	if err != nil {
		return nil, err
	}
	return s.svg(), nil
}

// PNG draws the figure as PNG, with two pixels for one of the figure's. Errors
// are those of [Figure.SVG].
func (f *Figure) PNG() ([]byte, error) {
	s, err := f.lay()
	if err != nil {
		return nil, err
	}
	return s.png()
}

// reaches is what each panel holds, checked.
func (f *Figure) reaches() ([]reach, error) {
	if len(f.Panels) == 0 {
		return nil, errors.New("plot: a figure without panels")
	}
	out := make([]reach, len(f.Panels))
	for i := range f.Panels {
		p := &f.Panels[i]
		out[i] = reach{x: nothing(), y: nothing(), level: len(p.Y.Names) > 0}
		for _, l := range p.Layers {
			l.see(&out[i])
		}
		if err := errors.Join(p.X.check(out[i].x), p.Y.check(out[i].y)); err != nil {
			return nil, fmt.Errorf("plot: panel %d %q: %w", i+1, p.Title, err)
		}
	}
	f.align(out)
	return out, nil
}

// align gives all panels the widest range, where the figure asks for it.
func (f *Figure) align(all []reach) {
	x, y := nothing(), nothing()
	for _, r := range all {
		if !r.x.empty() {
			x.see(r.x.lo, r.x.hi)
		}
		if !r.y.empty() {
			y.see(r.y.lo, r.y.hi)
		}
	}
	for i := range all {
		if f.SameX {
			all[i].x = x
		}
		if f.SameY {
			all[i].y = y
		}
	}
}

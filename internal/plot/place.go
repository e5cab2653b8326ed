package plot

import "math"

// ask is a label that wants a place.
type ask struct {
	lines []string
	ink   Ink
	bold  bool
	spots []spot
}

// spot is where a label might stand: beside a place, in a direction.
type spot struct {
	of     pt      // what it names
	at     pt      // what it stands beside: the same, or a place shifted from it
	dx, dy float64 // -1, 0 or 1: left, centred, right; above, centred, below
	gap    float64 // from the place to the label
	cost   float64 // how much worse it is than the best
}

// marked is what a layer drew at a value, in its ink.
type marked struct {
	rect
	ink Ink
}

const lineHeight = labelSize * 1.2

// size is that of a label's block of lines.
func (k *ask) size() (w, h float64) {
	for _, line := range k.lines {
		w = max(w, textWidth(line, labelSize, k.bold))
	}
	return w, float64(len(k.lines)) * lineHeight
}

// block is the rectangle of a label at a spot.
func (s *spot) block(w, h float64) rect {
	diagonal := 1.0
	if s.dx != 0 && s.dy != 0 {
		diagonal = .75
	}
	x := s.at.x - w/2 + s.dx*(w/2+s.gap*diagonal)
	y := s.at.y - h/2 + s.dy*(h/2+s.gap*diagonal)
	return rect{x, y, x + w, y + h}
}

// rounds of placing: the first is greedy, in the later ones each label moves
// once more, knowing where the others stand.
const rounds = 4

// place finds each label a spot within the bounds and writes it.
func (a *area) place(within rect) {
	chosen := make([]rect, len(a.asks))
	spots := make([]*spot, len(a.asks))
	for round := range rounds {
		for i := range a.asks {
			others := chosen[:i:i]
			if round > 0 {
				others = append(others, chosen[i+1:]...)
			}
			spots[i], chosen[i] = a.best(&a.asks[i], within, others)
		}
	}
	for i := range a.asks {
		a.writeBlock(&a.asks[i], spots[i], chosen[i])
	}
}

func (a *area) best(k *ask, within rect, others []rect) (*spot, rect) {
	w, h := k.size()
	var found *spot
	var at rect
	least := math.Inf(1)
	for i := range k.spots {
		s := &k.spots[i]
		if s.cost >= least {
			continue
		}
		block := s.block(w, h)
		if c := s.cost + a.strange(k, s) + a.hides(block, within, others); c < least {
			found, at, least = s, block, c
		}
	}
	return found, at
}

// strange is what it costs that marks of others lie where the label points: in
// grey it could be theirs.
func (a *area) strange(k *ask, s *spot) float64 {
	near := rect{s.of.x, s.of.y, s.of.x, s.of.y}.grown(14)
	cost := 0.0
	for _, m := range a.marks {
		if m.ink != k.ink && near.shared(m.rect) > 0 {
			cost += 9
		}
	}
	return cost
}

// hides is what a label at a place would cost: other words are never hidden if
// there is a way round, the edge is not crossed, a mark is dearer than a line,
// which a white edge keeps readable.
func (a *area) hides(r, within rect, others []rect) float64 {
	cost := 0.0
	if out := r.width()*r.height() - r.shared(within); out > .01 {
		cost += 5000 + 10*out
	}
	for _, list := range [...][]rect{others, a.texts} {
		for _, o := range list {
			if s := r.grown(2).shared(o); s > 0 {
				cost += 2000 + s
			}
		}
	}
	for _, m := range a.marks {
		if s := r.shared(m.rect); s > 0 {
			cost += 25 + s
		}
	}
	for _, l := range a.lines {
		if p, q, ok := clipSegment(l[0], l[1], r); ok {
			cost += .5 + 1.5*math.Hypot(q.x-p.x, q.y-p.y)
		}
	}
	return cost
}

// leaderFrom is how far a label may stand from its place before a fine line
// leads there, in pixels.
const leaderFrom = 13.0

func (a *area) writeBlock(k *ask, s *spot, r rect) {
	if s == nil {
		return
	}
	near := pt{min(max(s.of.x, r.x0), r.x1), min(max(s.of.y, r.y0+2), r.y1-2)}
	if d := math.Hypot(near.x-s.of.x, near.y-s.of.y); d > leaderFrom {
		t := 5 / d
		a.segment(pt{s.of.x + t*(near.x-s.of.x), s.of.y + t*(near.y-s.of.y)}, near, k.ink.words(), .8)
	}
	for i, line := range k.lines {
		w := words{text: line, size: labelSize, bold: k.bold, colour: k.ink.words(), halo: true}
		w.at = pt{r.x0, r.y0 + float64(i)*lineHeight + labelSize*.98}
		switch {
		case s.dx < 0:
			w.at.x, w.anchor = r.x1, end
		case s.dx == 0:
			w.at.x, w.anchor = (r.x0+r.x1)/2, middle
		}
		a.write(w)
	}
}

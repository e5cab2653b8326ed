package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
)

// seeds of facts/control.md F: the mean over them must hold.
var seeds = []uint64{1, 2, 3, 4, 5}

// check is one bound of a row. For an efficiency the mean of the seeds must
// hold and no seed may be more than slack on the wrong side.
type check struct {
	what  string
	atMin bool // the figure must be at least bound; else at most
	bound float64
	slack float64
}

// least is an efficiency: facts/control.md allows a single seed .02 below.
func least(what string, bound float64) check { return check{what, true, bound, .02} }

// most is a count or a time that no seed may exceed.
func most(what string, bound float64) check { return check{what, false, bound, 0} }

func (c check) holds(figures []float64) bool {
	mean, worst := c.summary(figures)
	if c.atMin {
		return mean >= c.bound && worst >= c.bound-c.slack
	}
	return mean <= c.bound && worst <= c.bound+c.slack
}

func (c check) summary(figures []float64) (mean, worst float64) {
	worst = figures[0]
	for _, f := range figures {
		mean += f / float64(len(figures))
		if c.atMin {
			worst = min(worst, f)
		} else {
			worst = max(worst, f)
		}
	}
	return mean, worst
}

func (c check) String() string {
	op := "≤"
	if c.atMin {
		op = "≥"
	}
	return fmt.Sprintf("%s %s %s", c.what, op, number(c.bound))
}

func number(f float64) string {
	switch {
	case math.IsNaN(f):
		return "none"
	case f == math.Trunc(f):
		return fmt.Sprintf("%.0f", f)
	case math.Abs(f) < 10:
		return strings.TrimPrefix(fmt.Sprintf("%.3f", f), "0")
	}
	return fmt.Sprintf("%.1f", f)
}

// row is one scenario with its bounds. run gives, for one seed, the figure of
// each check in order.
type row struct {
	n       int // of facts/control.md part F
	name    string
	checks  []check
	run     func(t *testing.T, seed uint64) []float64
	seeds   []uint64                   // nil: seeds
	compare func(t *testing.T) []rival // ours first; nil: nobody beside
	strict  bool                       // hold ours against them, as the issue asks for this row
}

// rival is how a controller, ours among them, fared in a row.
type rival struct {
	name     string
	eff      float64
	refused  int
	failed   int     // calls that it gave up
	others   float64 // share of colleagues' requests refused; NaN: no colleagues
	notEnded bool
}

func (r rival) String() string {
	s := fmt.Sprintf("%s %s/%d", r.name, number(r.eff), r.refused)
	if r.failed > 0 {
		s += fmt.Sprintf(" (%d lost)", r.failed)
	}
	if !math.IsNaN(r.others) {
		s += fmt.Sprintf(" colleagues %.1f %%", 100*r.others)
	}
	if r.notEnded {
		s += " stalled"
	}
	return s
}

// table collects what rows measured, in the order of the rows.
type table struct {
	mu    sync.Mutex
	title string
	lines [][]string
}

func (tb *table) put(at int, lines ...string) {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	for len(tb.lines) <= at {
		tb.lines = append(tb.lines, nil)
	}
	tb.lines[at] = append(tb.lines[at], lines...)
}

func (tb *table) String() string {
	var s strings.Builder
	s.WriteString(tb.title + "\n")
	for _, lines := range tb.lines {
		for _, l := range lines {
			s.WriteString(l + "\n")
		}
	}
	return s.String()
}

// runRows runs rows side by side and prints one table when all have ended.
func runRows(t *testing.T, title string, rows []row) {
	slices.SortStableFunc(rows, func(a, b row) int { return a.n - b.n })
	tb := &table{title: title}
	t.Cleanup(func() { t.Logf("\n%s", tb) })
	for i := range rows {
		r := &rows[i]
		t.Run(fmt.Sprintf("%02d %s", r.n, r.name), func(t *testing.T) {
			t.Parallel()
			r.measure(t, tb, i)
		})
	}
}

func (r *row) measure(t *testing.T, tb *table, at int) {
	use := r.seeds
	if use == nil {
		use = seeds
	}
	figures := make([][]float64, len(r.checks))
	for _, seed := range use {
		for i, f := range r.run(t, seed) {
			figures[i] = append(figures[i], f)
		}
	}
	for i, c := range r.checks {
		mean, worst := c.summary(figures[i])
		name := ""
		if i == 0 {
			name = fmt.Sprintf("%2d  %s", r.n, r.name)
		}
		verdict := "ok"
		if !c.holds(figures[i]) {
			verdict = "MISSED"
			t.Errorf("%v: mean %s, worst %s, seeds %.4g", c, number(mean), number(worst), figures[i])
		}
		tb.put(at, fmt.Sprintf("%-52s  %-34s  mean %8s  worst %8s  %s", name, c, number(mean), number(worst), verdict))
	}
	if r.compare != nil {
		r.rivals(t, tb, at)
	}
}

// rivals prints the naive controllers beside ours and, in strict rows, asserts
// what the issue asks: at most one refusal where an SDK's backoff meets a hundred, and no
// colleague refused where theirs refuses more than one in a hundred.
func (r *row) rivals(t *testing.T, tb *table, at int) {
	all := r.compare(t)
	ours := all[0]
	texts := make([]string, len(all))
	for i, other := range all {
		texts[i] = other.String()
		if !r.strict {
			continue
		}
		if other.name == "sdk" && other.refused >= 100 && ours.refused > 1 {
			t.Errorf("%d refusals where an SDK's backoff meets %d", ours.refused, other.refused)
		}
		if other.others > .01 && ours.others > 0 {
			t.Errorf("%.3f %% of colleagues' requests refused, beside %s %.1f %%", 100*ours.others, other.name, 100*other.others)
		}
	}
	tb.put(at, "      "+strings.Join(texts, "   "))
}

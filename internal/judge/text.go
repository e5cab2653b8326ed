package judge

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is the summary for people: a block for each judge, then one for each two
// that compare. Every mean has the counts of all statuses in its line
// (facts/peer-faults.md 26).
func (s *Summary) Text() string {
	var b strings.Builder
	for i := range s.Judges {
		if i > 0 {
			b.WriteByte('\n')
		}
		s.Judges[i].write(&b, s)
	}
	for i := range s.Comparisons {
		b.WriteByte('\n')
		s.Comparisons[i].write(&b, s)
	}
	return b.String()
}

// grid is a table of text: its first column to the left, others to the right.
type grid [][]string

func (g *grid) row(cells ...string) { *g = append(*g, cells) }

// mostCell is how many characters of a group, a label or an id people are shown.
const mostCell = 60

// shown is a text of somebody's rows as it may stand in a line: without line
// breaks and what else would steer a terminal, and not too long.
func shown(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if utf8.RuneCountInString(text) > mostCell {
		text = string([]rune(text)[:mostCell-1]) + "…"
	}
	return text
}

// write writes the table behind an indent; a column that is empty throughout is
// left out.
func (g grid) write(b *strings.Builder, indent string) {
	var widths []int
	for _, row := range g {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for _, row := range g {
		line := indent
		for i, cell := range row {
			if widths[i] == 0 {
				continue
			}
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			switch i {
			case 0:
				line += cell + pad
			default:
				line += "  " + pad + cell
			}
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
}

// grouped is a count with its thousands apart.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// counted is a count with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return grouped(n) + " " + noun + "s"
}

// some is a count in a table, where none is a dot that the eye passes over.
func some(n int) string {
	if n == 0 {
		return "·"
	}
	return grouped(n)
}

// places are the decimals of a score on a scale: a thousandth of it, about.
func places(scale *[2]float64) int {
	switch width := scale[1] - scale[0]; {
	case width >= 20:
		return 1
	case width >= 2:
		return 2
	}
	return 3
}

func fixed(v float64, decimals int) string { return strconv.FormatFloat(v, 'f', decimals, 64) }

// within words an estimate's interval.
func (e *Estimate) within(decimals int) string {
	if e == nil || e.Low == nil {
		return ""
	}
	return fixed(*e.Low, decimals) + " to " + fixed(*e.High, decimals)
}

// share words an estimate that is a share.
func (e *Estimate) share() string {
	if e == nil {
		return "–"
	}
	if e.Low == nil {
		return fixed(100*e.Value, 1) + " %"
	}
	return fmt.Sprintf("%s %% (%s to %s)", fixed(100*e.Value, 1), fixed(100**e.Low, 1), fixed(100**e.High, 1))
}

// orDash is a number that may not be known.
func orDash(v *float64, decimals int) string {
	if v == nil {
		return "–"
	}
	return fixed(*v, decimals)
}

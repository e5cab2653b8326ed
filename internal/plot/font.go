package plot

import (
	"strings"
	"sync"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/gobold"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
)

// face is one weight of the font and the advances of its commonest characters,
// in pixels for a size of 1.
type face struct {
	font     *sfnt.Font
	advances [128]float64
}

var (
	regular = sync.OnceValue(func() *face { return newFace(goregular.TTF) })
	bold    = sync.OnceValue(func() *face { return newFace(gobold.TTF) })
)

func weight(isBold bool) *face {
	if isBold {
		return bold()
	}
	return regular()
}

func newFace(ttf []byte) *face {
	parsed, err := sfnt.Parse(ttf)
	if err != nil {
		panic("plot: the font that is compiled in: " + err.Error())
	}
	f := &face{font: parsed}
	var buf sfnt.Buffer
	for r := range f.advances {
		f.advances[r] = f.measure(&buf, rune(r))
	}
	return f
}

// measure is the advance of a character. One that the font lacks is measured as
// the box that stands for it.
func (f *face) measure(buf *sfnt.Buffer, r rune) float64 {
	em := f.font.UnitsPerEm()
	glyph, err := f.font.GlyphIndex(buf, r)
	if err != nil {
		return .5
	}
	adv, err := f.font.GlyphAdvance(buf, glyph, fixed.I(int(em)), font.HintingNone)
	if err != nil {
		return .5
	}
	return float64(adv) / 64 / float64(em)
}

// textWidth is the width of one line of text in pixels.
func textWidth(text string, size float64, isBold bool) float64 {
	f := weight(isBold)
	var buf sfnt.Buffer
	sum := 0.0
	for _, r := range text {
		if int(r) < len(f.advances) {
			sum += f.advances[r]
		} else {
			sum += f.measure(&buf, r)
		}
	}
	return sum * size
}

// wrap breaks a text at spaces and at line breaks into lines no wider than
// width. A word that is wider stands on a line of its own.
func wrap(text string, size float64, isBold bool, width float64) []string {
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Fields(paragraph) {
			switch {
			case line == "":
				line = word
			case textWidth(line+" "+word, size, isBold) <= width:
				line += " " + word
			default:
				lines = append(lines, line)
				line = word
			}
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// balanced wraps a text into as few lines as fit; where the last would be left
// with a word or two, which look forgotten, all become about equally long.
func balanced(text string, size float64, isBold bool, width float64) []string {
	lines := wrap(text, size, isBold, width)
	if len(lines) < 2 || textWidth(lines[len(lines)-1], size, isBold) > width/3 {
		return lines
	}
	for w := width * .95; w > width/2; w -= width / 20 {
		tighter := wrap(text, size, isBold, w)
		if len(tighter) > len(lines) {
			break
		}
		lines = tighter
	}
	return lines
}

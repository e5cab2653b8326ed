package plot

import (
	"bytes"
	"encoding/xml"
	"strconv"
	"strings"
)

// family asks for the font that text was measured with, then for what is like it.
const family = "Go, 'Go Regular', 'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', sans-serif"

// svg writes the drawing. Coordinates are rounded to a tenth of a pixel, which
// also keeps the text equal on machines whose floating point differs in the last
// bit.
func (s *scene) svg() []byte {
	var b bytes.Buffer
	w, h := num(s.wide), num(s.high)
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" width="` + w + `" height="` + h +
		`" viewBox="0 0 ` + w + " " + h + `" role="img" font-family="` + family + "\">\n")
	b.WriteString("<title>" + escape(s.title) + "</title>\n")
	if s.desc != "" {
		b.WriteString("<desc>" + escape(s.desc) + "</desc>\n")
	}
	b.WriteString(`<rect width="` + w + `" height="` + h + `" fill="` + hex(white) + "\"/>\n")
	for _, it := range s.items {
		if it.shape != nil {
			it.shape.svg(&b)
		} else {
			it.words.svg(&b)
		}
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

func (sh *shape) svg(b *bytes.Buffer) {
	if sh.radius > 0 {
		b.WriteString(`<circle cx="` + num(sh.points[0].x) + `" cy="` + num(sh.points[0].y) + `" r="` + num(sh.radius) + `"`)
	} else {
		b.WriteString(`<path d="` + path(sh.points, sh.closed) + `"`)
	}
	sh.paint.svg(b)
	b.WriteString("/>\n")
}

// path writes a polyline with horizontal and vertical runs shortened.
func path(points []pt, closed bool) string {
	var b strings.Builder
	lastX, lastY := "", ""
	for i, p := range points {
		x, y := num(p.x), num(p.y)
		switch {
		case i == 0:
			b.WriteString("M" + x + " " + y)
		case x == lastX && y == lastY:
		case y == lastY:
			b.WriteString("H" + x)
		case x == lastX:
			b.WriteString("V" + y)
		default:
			b.WriteString("L" + x + " " + y)
		}
		lastX, lastY = x, y
	}
	if closed {
		b.WriteString("Z")
	}
	return b.String()
}

func (p *paint) svg(b *bytes.Buffer) {
	if p.fill.A == 0 {
		b.WriteString(` fill="none"`)
	} else {
		b.WriteString(` fill="` + hex(p.fill) + `"`)
		if p.fill.A != 0xff {
			b.WriteString(` fill-opacity="` + opacity(p.fill) + `"`)
		}
	}
	if p.stroke.A == 0 || p.width <= 0 {
		return
	}
	b.WriteString(` stroke="` + hex(p.stroke) + `" stroke-width="` + num(p.width) + `" stroke-linejoin="round"`)
	if p.stroke.A != 0xff {
		b.WriteString(` stroke-opacity="` + opacity(p.stroke) + `"`)
	}
	if len(p.dash) > 0 {
		parts := make([]string, len(p.dash))
		for i, d := range p.dash {
			parts[i] = num(d)
		}
		b.WriteString(` stroke-dasharray="` + strings.Join(parts, " ") + `"`)
	}
}

func (w *words) svg(b *bytes.Buffer) {
	b.WriteString(`<text x="` + num(w.at.x) + `" y="` + num(w.at.y) + `" font-size="` + num(w.size) + `" fill="` + hex(w.colour) + `"`)
	if w.bold {
		b.WriteString(` font-weight="700"`)
	}
	switch w.anchor {
	case middle:
		b.WriteString(` text-anchor="middle"`)
	case end:
		b.WriteString(` text-anchor="end"`)
	}
	b.WriteString(` textLength="` + num(w.width()) + `" lengthAdjust="spacingAndGlyphs"`)
	if w.halo {
		b.WriteString(` stroke="` + hex(white) + `" stroke-width="3.5" stroke-linejoin="round" paint-order="stroke"`)
	}
	b.WriteString(">" + escape(w.text) + "</text>\n")
}

// num writes a number to a tenth.
func num(v float64) string {
	s := strconv.FormatFloat(v, 'f', 1, 64)
	s = strings.TrimSuffix(s, ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

func escape(s string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(s)) // a bytes.Buffer does not fail
	return b.String()
}

package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func decoded(t *testing.T, f *Figure) image.Image {
	t.Helper()
	data, err := f.PNG()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// inkIn counts pixels that are not white.
func inkIn(img image.Image, r image.Rectangle) (n int) {
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			if red, green, blue, _ := img.At(x, y).RGBA(); red+green+blue < 3*0xffff {
				n++
			}
		}
	}
	return n
}

// The PNG is the same drawing: twice its size, with ink where the drawing has
// shapes and words.
func TestPNGIsTheDrawing(t *testing.T) {
	f := knee()
	s, err := f.lay()
	if err != nil {
		t.Fatal(err)
	}
	img := decoded(t, f)
	if got, want := img.Bounds().Size(), image.Pt(int(math.Ceil(s.wide*2)), int(math.Ceil(s.high*2))); got != want {
		t.Errorf("%v pixels, want %v", got, want)
	}
	pixels := func(r rect) image.Rectangle {
		return image.Rect(int(r.x0*2), int(r.y0*2), int(r.x1*2), int(r.y1*2))
	}
	dots := 0
	for _, it := range s.items {
		switch {
		case it.words != nil:
			if r := it.words.rect(); inkIn(img, pixels(r)) < int(r.width()*r.height()*.2) {
				t.Errorf("%q is hardly there", it.words.text)
			}
		case it.shape.radius > 0:
			dots++
			c := it.shape.points[0]
			if r, g, b, _ := img.At(int(c.x*2), int(c.y*2)).RGBA(); rgb(uint8(r>>8), uint8(g>>8), uint8(b>>8)) != it.shape.fill {
				t.Errorf("the dot at %v has colour %x %x %x", c, r>>8, g>>8, b>>8)
			}
		}
	}
	if dots != 9 {
		t.Errorf("%d dots, want 9", dots)
	}
	if margin := inkIn(img, image.Rect(0, 0, img.Bounds().Dx(), 20)); margin > 0 {
		t.Errorf("%d pixels of the upper margin have ink", margin)
	}
}

// Numbers of readings outside, on the edge, or missing leave no NaN behind, and
// the SVG stays XML whatever is written in it.
func TestSVGIsWellFormed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float64Range(-1e6, 1e6), rapid.Just(math.NaN()), rapid.Just(0.))
		text := rapid.OneOf(rapid.String(), rapid.Just("a < b & \"c\" \x00\xff"))
		axis := rapid.Custom(func(t *rapid.T) Axis {
			return Axis{Label: text.Draw(t, "label"), Unit: Unit(rapid.IntRange(0, 3).Draw(t, "unit")), Max: float64(rapid.SampledFrom([]int{0, 0, 50}).Draw(t, "max"))}
		})
		v := func() float64 { return value.Draw(t, "v") }
		f := Figure{Title: text.Draw(t, "title"), Foot: text.Draw(t, "foot"), Panels: []Panel{{
			Title: text.Draw(t, "panel"), X: axis.Draw(t, "x"), Y: axis.Draw(t, "y"), Layers: []Layer{
				Line{Points: []Point{{v(), v()}, {v(), v()}, {v(), v()}}, Label: text.Draw(t, "line"), Step: true},
				Band{Intervals: []Interval{{v(), v(), v()}, {v(), v(), v()}, {v(), v(), v()}}, Label: "band"},
				Dots{Readings: []Reading{{v(), v(), v(), v()}}, Joined: true, Label: "dots"},
				Bars{Bars: []Bar{{At: v(), To: v(), Low: v(), High: v(), Label: "1", Name: "bar"}}},
				Boxes{Boxes: []Box{{v(), v(), v(), v(), v(), v()}}, Label: "box"},
				Rule{At: v(), Low: v(), High: v(), Upright: true, Label: "rule"},
				Note{X: v(), Y: v(), Text: text.Draw(t, "note"), Ring: true},
			},
		}}}
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		if d := xml.NewDecoder(bytes.NewReader(svg)); !wellFormed(d) {
			t.Fatalf("not XML:\n%s", svg)
		}
		if bytes.Contains(svg, []byte(`NaN `)) || bytes.Contains(svg, []byte(`"NaN"`)) || bytes.Contains(svg, []byte("Inf")) {
			t.Fatalf("a number is none:\n%s", svg)
		}
	})
}

func wellFormed(d *xml.Decoder) bool {
	for {
		if _, err := d.Token(); err != nil {
			return errors.Is(err, io.EOF)
		}
	}
}

func TestWhatCannotBeDrawnIsSaid(t *testing.T) {
	one := func(x, y Axis, l Layer) *Figure {
		return &Figure{Panels: []Panel{{Title: "p", X: x, Y: y, Layers: []Layer{l}}}}
	}
	dot := func(x, y float64) Layer { return Dots{Readings: []Reading{{X: x, Y: y}}} }
	for _, c := range []struct {
		name   string
		figure *Figure
		want   string
	}{
		{"no panel", &Figure{}, "without panels"},
		{"zero on a logarithm", one(Axis{Label: "n", Log: true}, Axis{}, dot(0, 1)), `panel 1 "p": axis "n" is logarithmic, but a value is 0`},
		{"interval below zero on a logarithm", one(Axis{}, Axis{Log: true}, Dots{Readings: []Reading{{1, 2, -1, 3}}}), "a value is -1"},
		{"range below zero on a logarithm", one(Axis{Log: true, Min: -3, Max: 5}, Axis{}, dot(1, 1)), "a value is -3"},
		{"infinite", one(Axis{}, Axis{Label: "t"}, dot(1, math.Inf(1))), `axis "t": a value is infinite`},
		{"backwards", one(Axis{Label: "x", Min: 5, Max: 1}, Axis{}, dot(1, 1)), `axis "x" runs from 5 to 1`},
	} {
		_, err := c.figure.SVG()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.want)
		}
		if _, again := c.figure.PNG(); again == nil {
			t.Errorf("%s: the PNG is drawn", c.name)
		}
	}
}

// A gap is a gap: two strokes, not one through nothing.
func TestNaNIsAGap(t *testing.T) {
	l := Line{Points: []Point{{1, 1}, {2, 2}, {3, math.NaN()}, {4, 4}, {5, 5}}, Ink: Orange}
	s, err := (&Figure{Panels: []Panel{{Layers: []Layer{l}}}}).lay()
	if err != nil {
		t.Fatal(err)
	}
	strokes := 0
	for _, it := range s.items {
		if it.shape != nil && it.shape.stroke == Orange.line() {
			strokes++
		}
	}
	if strokes != 2 {
		t.Errorf("%d strokes, want 2", strokes)
	}
}

// Model names, units and signs that figures use can be written.
func TestFontHasOurSigns(t *testing.T) {
	for _, isBold := range [...]bool{false, true} {
		for _, r := range "abzABZ019 -–—−±×·≥≤≈→µσ%$&<>()…äöüéß" {
			if glyph, err := weight(isBold).font.GlyphIndex(nil, r); err != nil || glyph == 0 {
				t.Errorf("no %q (bold: %v)", r, isBold)
			}
		}
	}
}

func TestTitlesBreakInBalance(t *testing.T) {
	text := "one two three four five six seven eight nine ten eleven twelve"
	width := textWidth(text, 20, true) * .9
	lines := balanced(text, 20, true, width)
	if len(lines) != 2 || textWidth(lines[1], 20, true) < .6*textWidth(lines[0], 20, true) {
		t.Errorf("%q", lines)
	}
	if got := wrap("a"+strings.Repeat("b", 100)+" c", 12, false, 50); len(got) != 2 {
		t.Errorf("a long word: %q", got)
	}
}

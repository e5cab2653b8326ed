package plot

import (
	"image/color"
	"math"
	"testing"
)

// lightness is L* of CIE 1976: what a colour is in a grey print, 0 to 100.
func lightness(c color.NRGBA) float64 {
	y := luminance(c)
	if y <= 216./24389 {
		return y * 24389 / 27
	}
	return 116*math.Cbrt(y) - 16
}

func TestInksDifferInGrey(t *testing.T) {
	for i := Black; i <= Green; i++ {
		for j := Black; j < i; j++ {
			if d := math.Abs(lightness(i.line()) - lightness(j.line())); d < 9 {
				t.Errorf("inks %d and %d differ by %.1f in lightness; want 9", i, j, d)
			}
		}
	}
}

// WCAG 2.2, 1.4.3: 4.5 to 1.
func TestWordsReadOnTheirGround(t *testing.T) {
	contrast := func(a, b color.NRGBA) float64 {
		x, y := luminance(a)+.05, luminance(b)+.05
		return max(x, y) / min(x, y)
	}
	for i := Black; i <= Grey; i++ {
		if c := contrast(i.words(), white); c < 4.5 {
			t.Errorf("words of ink %d on white: %.1f", i, c)
		}
		for _, share := range [...]float64{0, .12, .25, barShare, .85, 1} {
			if ground := i.over(share); contrast(readable(ground), ground) < 4.5 {
				t.Errorf("words on ink %d at %.2f: %.1f", i, share, contrast(readable(ground), ground))
			}
		}
	}
}

func TestSeriesHaveInksAndMarksOfTheirOwn(t *testing.T) {
	inks, marks := map[Ink]bool{}, map[Mark]bool{}
	for i := range 4 {
		inks[Series(i)] = true
		marks[OwnMark.of(Series(i))] = true
	}
	if len(inks) != 4 || len(marks) != 4 {
		t.Errorf("four series have %d inks and %d marks", len(inks), len(marks))
	}
	if Series(-1) != Series(4) || Ink(200).line() != Black.line() {
		t.Error("an index out of reach is not an ink")
	}
}

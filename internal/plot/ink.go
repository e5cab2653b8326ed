package plot

import (
	"image/color"
	"math"
	"strconv"
)

// Ink is the colour of a layer. The zero value is black.
type Ink uint8

// The inks, each of its own lightness; grey is for what is beside the point:
// what others use, what was not measured.
const (
	Black Ink = iota
	Blue
	Orange
	Violet
	Green
	Grey
)

// Series is the ink of the i-th of several equal series, from 0.
func Series(i int) Ink {
	order := [...]Ink{Blue, Orange, Violet, Green, Black}
	return order[((i%len(order))+len(order))%len(order)]
}

// inks are for lines and areas; words in the same hue are darker where the line's
// colour would be under 4.5:1 on white (WCAG 2.2, 1.4.3).
var inks = [...]struct{ line, words color.NRGBA }{
	Black:  {rgb(0x22, 0x22, 0x22), rgb(0x22, 0x22, 0x22)},
	Blue:   {rgb(0x12, 0x4a, 0x94), rgb(0x12, 0x4a, 0x94)},
	Orange: {rgb(0xe0, 0x6c, 0x1b), rgb(0xad, 0x4b, 0x06)},
	Violet: {rgb(0x95, 0x4f, 0xa8), rgb(0x83, 0x3d, 0x97)},
	Green:  {rgb(0x5c, 0xb8, 0x8a), rgb(0x1d, 0x74, 0x4c)},
	Grey:   {rgb(0xa9, 0xa9, 0xa9), rgb(0x66, 0x66, 0x66)},
}

var (
	white = rgb(0xff, 0xff, 0xff)
	faint = rgb(0xe6, 0xe6, 0xe6) // lines of the grid
	frame = rgb(0x77, 0x77, 0x77) // axes
	soft  = rgb(0x55, 0x55, 0x55) // ticks, notes
)

func rgb(r, g, b uint8) color.NRGBA { return color.NRGBA{r, g, b, 0xff} }

func (k Ink) line() color.NRGBA  { return inks[k.known()].line }
func (k Ink) words() color.NRGBA { return inks[k.known()].words }

func (k Ink) known() Ink {
	if int(k) >= len(inks) {
		return Black
	}
	return k
}

// over is the ink so thin that a part of white shows through: an area as opaque
// as its line would hide what lies in it. It is mixed with white, not made
// transparent, where nothing lies below.
func (k Ink) over(share float64) color.NRGBA {
	c := k.line()
	mix := func(v uint8) uint8 { return uint8(255 - share*(255-float64(v)) + .5) }
	return rgb(mix(c.R), mix(c.G), mix(c.B))
}

// veil is the ink as a veil over what lies below.
func (k Ink) veil(share float64) color.NRGBA {
	c := k.line()
	c.A = uint8(255*share + .5)
	return c
}

// hex writes a colour without its opacity.
func hex(c color.NRGBA) string {
	const digits = "0123456789abcdef"
	b := []byte{'#'}
	for _, v := range [...]uint8{c.R, c.G, c.B} {
		b = append(b, digits[v>>4], digits[v&15])
	}
	return string(b)
}

// opacity writes how opaque a colour is, to a hundredth.
func opacity(c color.NRGBA) string {
	return strconv.FormatFloat(float64(int(float64(c.A)/2.55+.5))/100, 'f', -1, 64)
}

// luminance is the relative luminance of WCAG 2.2: 0 black, 1 white.
func luminance(c color.NRGBA) float64 {
	part := func(v uint8) float64 {
		s := float64(v) / 255
		if s <= .04045 {
			return s / 12.92
		}
		return math.Pow((s+.055)/1.055, 2.4)
	}
	return .2126*part(c.R) + .7152*part(c.G) + .0722*part(c.B)
}

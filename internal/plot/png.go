package plot

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"

	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
)

// pngScale makes a pixel of the drawing two of the image: figures are looked at
// on screens of high density and in print.
const pngScale = 2

// png paints the drawing.
func (s *scene) png() ([]byte, error) {
	b := brush{img: image.NewRGBA(image.Rect(0, 0, int(math.Ceil(s.wide*pngScale)), int(math.Ceil(s.high*pngScale))))}
	draw.Draw(b.img, b.img.Bounds(), image.NewUniform(white), image.Point{}, draw.Src)
	for _, it := range s.items {
		if it.shape != nil {
			b.shape(it.shape)
		} else if err := b.words(it.words); err != nil {
			return nil, fmt.Errorf("plot: painting %q: %w", it.words.text, err)
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, b.img); err != nil {
		return nil, fmt.Errorf("plot: writing the PNG: %w", err)
	}
	return out.Bytes(), nil
}

// brush paints polygons onto an image.
type brush struct {
	img    *image.RGBA
	raster vector.Rasterizer
	font   sfnt.Buffer
}

func (b *brush) shape(sh *shape) {
	points := sh.points
	closed := sh.closed
	if sh.radius > 0 {
		points, closed = disc(points[0], sh.radius), true
	}
	if sh.fill.A != 0 {
		b.polygons([][]pt{points}, sh.fill)
	}
	if sh.stroke.A == 0 || sh.width <= 0 {
		return
	}
	var outlines [][]pt
	if len(sh.dash) > 0 {
		for _, piece := range dashes(points, sh.dash) {
			outlines = append(outlines, outline(piece, false, sh.width)...)
		}
	} else {
		outlines = outline(points, closed, sh.width)
	}
	b.polygons(outlines, sh.stroke)
}

// polygons paints several at once: where they overlap a thin colour is not
// painted twice. The rasteriser works on their bounding box alone, since its cost
// goes with the area.
func (b *brush) polygons(polygons [][]pt, c color.NRGBA) {
	box := bounds(polygons).Intersect(b.img.Bounds())
	if box.Empty() {
		return
	}
	b.raster.Reset(box.Dx(), box.Dy())
	for _, polygon := range polygons {
		for i, p := range polygon {
			x, y := float32(p.x*pngScale-float64(box.Min.X)), float32(p.y*pngScale-float64(box.Min.Y))
			if i == 0 {
				b.raster.MoveTo(x, y)
			} else {
				b.raster.LineTo(x, y)
			}
		}
		b.raster.ClosePath()
	}
	b.raster.Draw(b.img, box, image.NewUniform(c), image.Point{})
}

func bounds(polygons [][]pt) image.Rectangle {
	x0, y0, x1, y1 := math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)
	for _, polygon := range polygons {
		for _, p := range polygon {
			x0, y0, x1, y1 = min(x0, p.x), min(y0, p.y), max(x1, p.x), max(y1, p.y)
		}
	}
	if x0 > x1 {
		return image.Rectangle{}
	}
	return image.Rect(int(x0*pngScale)-1, int(y0*pngScale)-1, int(x1*pngScale)+2, int(y1*pngScale)+2)
}

func (b *brush) words(w *words) error {
	contours, err := b.contours(w)
	if err != nil {
		return err
	}
	if w.halo {
		var edge [][]pt
		for _, c := range contours {
			edge = append(edge, outline(c, true, 3.5)...)
		}
		b.polygons(edge, white)
	}
	b.polygons(contours, w.colour)
	return nil
}

// contours are the outlines of a text's characters, curves flattened.
func (b *brush) contours(w *words) ([][]pt, error) {
	f := weight(w.bold)
	x := w.left()
	var out [][]pt
	for _, r := range w.text {
		glyph, err := f.font.GlyphIndex(&b.font, r)
		if err != nil {
			return nil, err
		}
		// The outline is asked for at a size of 1024 and scaled, which is finer than
		// the 64ths of a pixel it is given in.
		segments, err := f.font.LoadGlyph(&b.font, glyph, fixed.I(glyphSize), nil)
		if err != nil {
			return nil, err
		}
		out = append(out, flatten(segments, pt{x, w.at.y}, w.size/glyphSize/64)...)
		x += f.measure(&b.font, r) * w.size
	}
	return out, nil
}

const glyphSize = 1024

// flatten turns the curves of a glyph into polygons.
func flatten(segments sfnt.Segments, at pt, scale float64) [][]pt {
	var out [][]pt
	var last pt
	place := func(p fixed.Point26_6) pt { return pt{at.x + float64(p.X)*scale, at.y + float64(p.Y)*scale} }
	for _, s := range segments {
		a := [3]pt{place(s.Args[0]), place(s.Args[1]), place(s.Args[2])}
		switch s.Op {
		case sfnt.SegmentOpMoveTo:
			out = append(out, []pt{a[0]})
			last = a[0]
			continue
		case sfnt.SegmentOpLineTo:
			out[len(out)-1] = append(out[len(out)-1], a[0])
			last = a[0]
		case sfnt.SegmentOpQuadTo:
			out[len(out)-1] = append(out[len(out)-1], curve(last, a[0], a[0], a[1], 2)...)
			last = a[1]
		case sfnt.SegmentOpCubeTo:
			out[len(out)-1] = append(out[len(out)-1], curve(last, a[0], a[1], a[2], 3)...)
			last = a[2]
		}
	}
	return out
}

// curveSteps are enough for letters of the sizes that figures use.
const curveSteps = 6

// curve is a quadratic (degree 2, of which c1 is the control point) or cubic
// curve as points, without its first.
func curve(from, c1, c2, to pt, degree int) []pt {
	out := make([]pt, curveSteps)
	for i := range out {
		t := float64(i+1) / curveSteps
		u := 1 - t
		if degree == 2 {
			out[i] = pt{u*u*from.x + 2*u*t*c1.x + t*t*to.x, u*u*from.y + 2*u*t*c1.y + t*t*to.y}
			continue
		}
		out[i] = pt{
			u*u*u*from.x + 3*u*u*t*c1.x + 3*u*t*t*c2.x + t*t*t*to.x,
			u*u*u*from.y + 3*u*u*t*c1.y + 3*u*t*t*c2.y + t*t*t*to.y,
		}
	}
	return out
}

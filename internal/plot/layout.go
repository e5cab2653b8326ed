package plot

import "image/color"

// Sizes in pixels.
const (
	margin     = 26.0
	gutter     = 30.0 // between panels
	titleSize  = 20.0
	underSize  = 14.0
	panelSize  = 14.0
	labelSize  = 13.0
	tickSize   = 12.0
	footSize   = 11.5
	defaultWid = 860
)

// lay draws the figure into a scene, from top to bottom.
func (f *Figure) lay() (*scene, error) {
	all, err := f.reaches()
	if err != nil {
		return nil, err
	}
	s := &scene{wide: defaultWid, title: f.Title, desc: f.Subtitle}
	if f.Width > 0 {
		s.wide = float64(f.Width)
	}
	room := s.wide - 2*margin
	y := s.paragraph(margin, f.Title, titleSize, true, rgb(0x11, 0x11, 0x11), room)
	if f.Subtitle != "" {
		y = s.paragraph(y+4, f.Subtitle, underSize, false, soft, room)
	}
	y = f.grid(s, y+18, all)
	if f.Foot != "" {
		y = s.paragraph(y+14, f.Foot, footSize, false, rgb(0x6a, 0x6a, 0x6a), room)
	}
	s.high = y + margin - 6
	return s, nil
}

// paragraph writes wrapped text below y and returns where it ends.
func (s *scene) paragraph(y float64, text string, size float64, bold bool, c color.NRGBA, room float64) float64 {
	for _, line := range wrap(text, size, bold, room) {
		s.write(words{at: pt{margin, y + size*.95}, text: line, size: size, bold: bold, colour: c})
		y += size * 1.3
	}
	return y
}

// grid draws the panels in rows and returns where they end.
func (f *Figure) grid(s *scene, y float64, all []reach) float64 {
	columns := f.columns()
	width := (s.wide - 2*margin - float64(columns-1)*gutter) / float64(columns)
	for first := 0; first < len(f.Panels); first += columns {
		row := f.Panels[first:min(first+columns, len(f.Panels))]
		height := f.height(row)
		for i := range row {
			x := margin + float64(i)*(width+gutter)
			drawPanel(s, rect{x, y, x + width, y + height}, &row[i], all[first+i])
		}
		y += height + gutter*.7
	}
	return y - gutter*.7
}

func (f *Figure) columns() int {
	switch n := len(f.Panels); {
	case f.Columns > 0:
		return min(f.Columns, n)
	case n <= 2:
		return 1
	case n == 4:
		return 2
	default:
		return 3
	}
}

// height is that of a row of panels: a line for each name where the vertical
// axis has names.
func (f *Figure) height(row []Panel) float64 {
	if f.PanelHeight > 0 {
		return float64(f.PanelHeight)
	}
	h := 0.0
	for _, p := range row {
		switch names := len(p.Y.Names); {
		case names > 0:
			h = max(h, 90+36*float64(names))
		case f.columns() > 1:
			h = max(h, 270)
		default:
			h = max(h, 400)
		}
	}
	return h
}

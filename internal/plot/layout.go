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

	// spare keeps titles inside the figure where a viewer of SVG has no Go font and
	// does not hold a wider one to the measured width.
	spare = .87
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
	y := s.paragraph(margin, f.Title, titleSize, true, rgb(0x11, 0x11, 0x11), room*spare)
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
	for _, line := range balanced(text, size, bold, room) {
		s.write(words{at: pt{margin, y + size*.95}, text: line, size: size, bold: bold, colour: c})
		y += size * 1.3
	}
	return y
}

// grid draws the panels in rows and returns where they end.
func (f *Figure) grid(s *scene, y float64, all []reach) float64 {
	columns := f.columns()
	width := (s.wide - 2*margin - float64(columns-1)*gutter) / float64(columns)
	var areas []*area
	for first := 0; first < len(f.Panels); first += columns {
		row := f.Panels[first:min(first+columns, len(f.Panels))]
		height := f.height(row)
		for i := range row {
			x := margin + float64(i)*(width+gutter)
			areas = append(areas, newArea(s, rect{x, y, x + width, y + height}, &row[i], all[first+i]))
		}
		level(areas[first:])
		y += height + gutter*.7
	}
	for c := range columns {
		plumb(areas, c, columns)
	}
	for _, a := range areas {
		a.paint()
	}
	return y - gutter*.7
}

// level lets the plots of a row begin and end at one height.
func level(row []*area) {
	for _, a := range row {
		row[0].y0, row[0].y1 = max(row[0].y0, a.y0), min(row[0].y1, a.y1)
	}
	for _, a := range row {
		a.y0, a.y1 = row[0].y0, row[0].y1
	}
}

// plumb lets the plots of a column stand above each other: mostly they share an
// axis.
func plumb(areas []*area, column, columns int) {
	left, reserve := 0.0, 0.0
	for i := column; i < len(areas); i += columns {
		left = max(left, areas[i].upright())
	}
	for i := column; i < len(areas); i += columns {
		reserve = max(reserve, areas[i].reserve(areas[i].outer.width()-left))
	}
	for i := column; i < len(areas); i += columns {
		areas[i].across(left, reserve)
	}
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

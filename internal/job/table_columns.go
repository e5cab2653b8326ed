package job

// columns are what a table has besides the input's.
func (b *builder) columns() []column {
	if b.craft == nil {
		return ownColumns
	}
	var own []column
	for _, c := range b.craft.Columns() {
		has := cellText
		switch {
		case c.Whole:
			has = cellWhole
		case c.Number:
			has = cellNumber
		}
		own = append(own, column{name: c.Name, has: has})
	}
	return own
}

// telling are the columns by which a row of a table is known to hold an answer. A
// table has no hash of the body, as a line has.
func (b *builder) telling() (names []string) {
	if b.craft == nil {
		return tableCells
	}
	for _, c := range b.craft.Columns() {
		if c.Telling {
			names = append(names, c.Name)
		}
	}
	return names
}

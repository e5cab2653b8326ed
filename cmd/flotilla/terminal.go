package main

import (
	"os"

	"golang.org/x/term"
)

// terminal is a stream that people look at or type into.
type terminal struct {
	size func() (width, height int)
}

// terminalOf is the terminal that a stream leads to; nil: it leads to none.
func terminalOf(stream any) *terminal {
	f, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil
	}
	return &terminal{size: func() (int, int) {
		w, h, err := term.GetSize(int(f.Fd()))
		if err != nil || w <= 0 || h <= 0 {
			return 80, 24 // what a terminal that does not say is taken for
		}
		return w, h
	}}
}

// colors says whether a terminal is to be written to in colour (no-color.org).
func (e *environment) colors(t *terminal) bool {
	return t != nil && e.real["NO_COLOR"] == "" && e.real["TERM"] != "dumb"
}

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/plan"
	"github.com/flotilla-llm/flotilla/price"
)

// grouped is a count with commas.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// seconds is a time in whole seconds, with commas; below 100 to a tenth.
func seconds(s float64) string {
	if s < 100 {
		return strconv.FormatFloat(s, 'f', 1, 64)
	}
	return grouped(int(s + .5))
}

// span is a time for people.
func span(d time.Duration) string {
	switch {
	case d == plan.Never:
		return "never"
	case d < 10*time.Minute:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 3*time.Hour:
		return fmt.Sprintf("%.1f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// dollars is an amount to the cent.
func dollars(n price.Nanos) string { return fmt.Sprintf("$%.2f", n.Float()) }

// share is a ratio as people write it here: .94.
func share(f float64) string { return strings.TrimPrefix(strconv.FormatFloat(f, 'f', 2, 64), "0") }

// times is by how much something is faster.
func times(f float64) string {
	if f < 10 {
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 0, 64)
}

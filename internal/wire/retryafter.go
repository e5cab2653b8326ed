package wire

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestWait is the longest wait believed: 2^31-1 ms, 24.8 days, as in the
// official TypeScript client (facts/claude-api.md 2.5).
const longestWait = (1<<31 - 1) * time.Millisecond

// RetryAfter is how long an answer asks to wait: retry-after-ms in
// milliseconds, else retry-after in seconds (both may have a fraction) or as an
// HTTP date, which is held against the answer's own Date where it has one, else
// against now. ok is false when neither is there, or neither makes sense:
// units ("500ms"), negative numbers and more than 24.8 days are ignored. A date
// that has passed is a wait of 0.
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	if v := h["Retry-After-Ms"]; len(v) > 0 {
		if d, ok := parseWait(v[0], time.Millisecond); ok {
			return d, true
		}
	}
	v := h["Retry-After"]
	if len(v) == 0 {
		return 0, false
	}
	if d, ok := parseWait(v[0], time.Second); ok {
		return d, true
	}
	at, err := http.ParseTime(v[0])
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	if now.IsZero() {
		return 0, false
	}
	d := max(at.Sub(now), 0)
	return d, d <= longestWait
}

// parseWait reads a decimal number of units, with or without a fraction.
func parseWait(s string, unit time.Duration) (time.Duration, bool) {
	if strings.Trim(s, "0123456789.") != "" { // no sign, exponent, unit, NaN, hexadecimal
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, false
	}
	ns := math.Ceil(f * float64(unit)) // never shorter than asked
	if ns > float64(longestWait) {
		return 0, false
	}
	return time.Duration(ns), true
}

// badWaits counts the wait headers that RetryAfter would ignore as malformed.
func badWaits(h http.Header) (bad int) {
	if v := h["Retry-After-Ms"]; len(v) > 0 {
		if _, ok := parseWait(v[0], time.Millisecond); !ok {
			bad++
		}
	}
	if v := h["Retry-After"]; len(v) > 0 {
		if _, ok := parseWait(v[0], time.Second); !ok {
			if _, err := http.ParseTime(v[0]); err != nil {
				bad++
			}
		}
	}
	return bad
}

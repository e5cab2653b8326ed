package gateway

import (
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// Headers by which a client says how its request is to be treated.
const (
	headerPriority = "X-Flotilla-Priority"
	headerPrefer   = "X-Flotilla-Prefer"
	headerDeadline = "X-Flotilla-Deadline"
	headerMaxWait  = "X-Flotilla-Max-Wait"
)

// usualWait is how long a request waits for its answer to begin when nothing
// else is said: 0.9 of the ten minutes that the official SDKs wait.
const usualWait = 540 * time.Second

// longestWait bounds x-flotilla-max-wait: longer than a batch may take, nobody waits.
const longestWait = 24 * time.Hour

// ask is how a request is to be treated, as its headers say.
type ask struct {
	Priority    flotilla.Priority
	Prefer      flotilla.Prefer
	PreferGiven bool          // by a header
	Deadline    time.Time     // zero: none
	MaxWait     time.Duration // until an answer begins; the deadline is in it
}

// readAsk reads the headers of a request. A value that is not understood is
// refused: one that was ignored would be missed when it matters.
func readAsk(h http.Header, caller Caller, now time.Time) (ask, *apiError) {
	a := ask{Priority: caller.Priority, MaxWait: patience(h)}
	for _, read := range [...]func(http.Header, Caller, time.Time) *apiError{a.priority, a.prefer, a.maxWait, a.deadline} {
		if e := read(h, caller, now); e != nil {
			return a, e
		}
	}
	return a, nil
}

// patience is how long the client itself waits, less a tenth, so that it hears
// of us before it gives up: X-Stainless-Timeout of the SDKs, in seconds.
func patience(h http.Header) time.Duration {
	for _, name := range [...]string{"X-Stainless-Timeout", "X-Stainless-Read-Timeout"} {
		if d, ok := seconds(h.Get(name)); ok && d > 0 {
			return time.Duration(0.9 * float64(d))
		}
	}
	return usualWait
}

// seconds reads a number of seconds, at most longestWait.
func seconds(s string) (time.Duration, bool) {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || x < 0 {
		return 0, false
	}
	return time.Duration(min(x, longestWait.Seconds()) * float64(time.Second)), true
}

// priorities are the names of all, from the lowest up.
var priorities = [...]string{flotilla.Bulk.String(), flotilla.Normal.String(), flotilla.Interactive.String()}

func (a *ask) priority(h http.Header, caller Caller, _ time.Time) *apiError {
	value, given := one(h, headerPriority)
	if !given {
		return nil
	}
	most := max(caller.Highest, caller.Priority)
	for p, name := range priorities {
		if !strings.EqualFold(value, name) {
			continue
		}
		if a.Priority = flotilla.Priority(p); a.Priority > most {
			return &apiError{
				status: http.StatusForbidden, kind: kindPermission,
				message: fmt.Sprintf("x-flotilla-priority: %s is above what this key may ask for: %s", name, spell(priorities[:most+1])),
			}
		}
		return nil
	}
	return invalid(fmt.Sprintf("x-flotilla-priority: %s is none of %s", quote(value), spell(priorities[:])))
}

var preferences = [...]string{flotilla.Balanced: "balanced", flotilla.Fast: "fast", flotilla.Cheap: "cheap"}

func (a *ask) prefer(h http.Header, _ Caller, _ time.Time) *apiError {
	value, given := one(h, headerPrefer)
	if !given {
		return nil
	}
	for p, name := range preferences {
		if strings.EqualFold(value, name) {
			a.Prefer, a.PreferGiven = flotilla.Prefer(p), true
			return nil
		}
	}
	return invalid(fmt.Sprintf("x-flotilla-prefer: %s is none of %s", quote(value), spell(preferences[:])))
}

func (a *ask) maxWait(h http.Header, _ Caller, _ time.Time) *apiError {
	value, given := one(h, headerMaxWait)
	if !given {
		return nil
	}
	d, ok := seconds(value)
	if !ok {
		var err error
		if d, err = time.ParseDuration(value); err != nil {
			d = 0
		}
	}
	if d <= 0 {
		return invalid(fmt.Sprintf("x-flotilla-max-wait: %s is no time such as 30s, 5m or 45 (seconds), above zero", quote(value)))
	}
	a.MaxWait = min(d, longestWait)
	return nil
}

func (a *ask) deadline(h http.Header, _ Caller, now time.Time) *apiError {
	value, given := one(h, headerDeadline)
	if !given {
		return nil
	}
	at, err := time.Parse(time.RFC3339, value)
	if err != nil {
		d, derr := time.ParseDuration(value)
		if derr != nil {
			return invalid(fmt.Sprintf("x-flotilla-deadline: %s is no time such as 2026-11-30T12:00:00Z or 45m (from now)", quote(value)))
		}
		at = now.Add(d)
	}
	left := at.Sub(now)
	if left <= 0 {
		return invalid("x-flotilla-deadline: " + quote(value) + " has passed")
	}
	a.Deadline, a.MaxWait = at, min(a.MaxWait, left)
	return nil
}

// one is the value of a header that is given once at most.
func one(h http.Header, name string) (value string, given bool) {
	values := h[name]
	return strings.TrimSpace(strings.Join(values, ", ")), len(values) > 0
}

// shownValue is how much of a client's value is said back to it.
const shownValue = 60

func quote(value string) string {
	if len(value) > shownValue {
		value = value[:shownValue] + "…"
	}
	return strconv.Quote(value)
}

func spell(names []string) string { return strings.Join(names, ", ") }

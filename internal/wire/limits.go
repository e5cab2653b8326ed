package wire

import (
	"net/http"
	"strconv"
	"time"
)

// Limit is one triplet of limit headers. Only what was present and well-formed
// is set.
type Limit struct {
	Limit        int64     // per minute
	Remaining    int64     // tokens are rounded to thousands by the server
	Reset        time.Time // of full replenishment, whole seconds; zero: not given
	HasLimit     bool
	HasRemaining bool
}

// Known says that the whole triplet was there.
func (l Limit) Known() bool { return l.HasLimit && l.HasRemaining && !l.Reset.IsZero() }

// Limits is what the limit headers of one answer say (facts/claude-api.md 3.3).
type Limits struct {
	Requests, Tokens, Input, Output Limit // Tokens: the most restrictive in force, else the sum of both
	PriorityInput, PriorityOutput   Limit // Priority Tier alone
	FastInput, FastOutput           Limit // fast mode alone

	Date time.Time // of the answer, by the server's clock; zero: not given
	Bad  int       // headers of these that were present and could not be parsed: they were ignored
}

// triplets names the headers in canonical form, so that reading them costs a
// map access each.
var triplets = func() (t [8][3]string) {
	for i, family := range [8]string{
		"anthropic-ratelimit-requests-", "anthropic-ratelimit-tokens-",
		"anthropic-ratelimit-input-tokens-", "anthropic-ratelimit-output-tokens-",
		"anthropic-priority-input-tokens-", "anthropic-priority-output-tokens-",
		"anthropic-fast-input-tokens-", "anthropic-fast-output-tokens-",
	} {
		for j, part := range [3]string{"limit", "remaining", "reset"} {
			t[i][j] = http.CanonicalHeaderKey(family + part)
		}
	}
	return t
}()

// ParseLimits reads the limit headers, strictly: a count is decimal digits, an
// instant is RFC 3339, nothing else is taken for either.
func ParseLimits(h http.Header) Limits {
	var l Limits
	for i, to := range [8]*Limit{
		&l.Requests, &l.Tokens, &l.Input, &l.Output,
		&l.PriorityInput, &l.PriorityOutput, &l.FastInput, &l.FastOutput,
	} {
		names := &triplets[i]
		to.Limit, to.HasLimit = l.count(h[names[0]])
		to.Remaining, to.HasRemaining = l.count(h[names[1]])
		to.Reset = l.instant(h[names[2]])
	}
	if v := h["Date"]; len(v) > 0 {
		d, err := http.ParseTime(v[0])
		if err != nil {
			l.Bad++
		}
		l.Date = d
	}
	l.Bad += badWaits(h)
	return l
}

func (l *Limits) count(v []string) (int64, bool) {
	if len(v) == 0 {
		return 0, false
	}
	n, ok := parseDigits(v[0])
	if !ok {
		l.Bad++
	}
	return n, ok
}

// instant reads an RFC 3339 time between the years 2000 and 2200: the zero
// Time stands for none, and a year beyond is no clock's.
func (l *Limits) instant(v []string) time.Time {
	if len(v) == 0 {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, v[0])
	if err != nil || t.Year() < 2000 || t.Year() > 2200 {
		l.Bad++
		return time.Time{}
	}
	return t
}

// parseDigits reads a whole number in decimal digits alone.
func parseDigits(s string) (int64, bool) {
	if s == "" || !isDigit(s[0]) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

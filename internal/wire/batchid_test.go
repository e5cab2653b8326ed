package wire

import (
	"fmt"
	"math"
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

// customID is what the API takes (facts/claude-api.md 4.3).
var customID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func drawRowID(t *rapid.T) RowID {
	return RowID{
		Job:    rapid.StringMatching(`[a-z0-9]{1,16}`).Draw(t, "job"),
		Intent: rapid.Int64Range(0, math.MaxInt64).Draw(t, "intent"),
		Row:    int(rapid.Int64Range(0, math.MaxInt64).Draw(t, "row")),
	}
}

func TestRowIDRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := drawRowID(t)
		s := string(AppendRowID(nil, id))
		if !customID.MatchString(s) {
			t.Fatalf("%q is no custom_id", s)
		}
		if got, ok := ParseRowID(s); !ok || got != id {
			t.Fatalf("%q reads as %+v (%v), was made of %+v", s, got, ok, id)
		}
		if n := rowIDSize(id); n != len(s) {
			t.Fatalf("%q: size %d counted, is %d", s, n, len(s))
		}
	})
}

func TestRowIDForm(t *testing.T) {
	if got := string(AppendRowID(nil, RowID{"2e08", 1_732_924_800_000_000_000, 141_599})); got != "f1-2e08-d5z2kmwnklc0-141599" {
		t.Errorf("%q", got)
	}
}

// Ids of others, however close to ours, are not ours.
func TestParseRowIDStrict(t *testing.T) {
	for _, s := range []string{
		"", "f1", "f1-", "f1-j", "f1-j-1", "f1-j-1-", "f1--1-1", "f1-j--1", "f2-j-1-1", "F1-j-1-1", "f1-J-1-1", "f1-j_-1-1",
		"f1-j-01-1", "f1-j-1-01", "f1-j-+1-1", "f1-j-1-+1", "f1-j--1-1", "f1-j-1--1", "f1-j-A-1", "f1-j-1-a", "f1-j-1-1-1", "f1-j-1-1 ",
		"f1-j-1y2p0ij32e8e8-1", "f1-j-1-9223372036854775808", "f1-12345678901234567-1-1", "row-1",
	} {
		if id, ok := ParseRowID(s); ok {
			t.Errorf("%q reads as %+v", s, id)
		}
	}
}

func TestValidJob(t *testing.T) {
	for name, want := range map[string]bool{
		"x": true, "2e08": true, "0123456789abcdef": true, "": false, "0123456789abcdef0": false, "A": false, "a-b": false, "ä": false,
	} {
		if got := ValidJob(name); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
}

func FuzzParseRowID(f *testing.F) {
	f.Add("f1-2e08-cnwjkb5nuakg-141599")
	f.Add("f1-x-0-0")
	f.Add("f1-x-1y2p0ij32e8e7-9223372036854775807")
	f.Add("f1-x-007-1")
	f.Fuzz(func(t *testing.T, s string) {
		id, ok := ParseRowID(s)
		if !ok {
			return
		}
		if back := string(AppendRowID(nil, id)); back != s || !customID.MatchString(s) {
			t.Fatalf("%q reads as %s, which is %q", s, fmt.Sprint(id), back)
		}
	})
}

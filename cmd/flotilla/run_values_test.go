package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

func TestParseSpend(t *testing.T) {
	for text, want := range map[string]spendCaps{
		"40":       {job: 40 * price.Dollar},
		"$2.50":    {job: 2*price.Dollar + price.Dollar/2},
		"40/day":   {day: 40 * price.Dollar},
		"0.01/day": {day: price.Dollar / 100},
	} {
		if got, err := parseSpend(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"0", "0/day", "-3", "-3/day", "", "a lot", "40/week", "NaN", "1e9"} {
		if got, err := parseSpend(text); err == nil {
			t.Errorf("%q was taken as %+v", text, got)
		}
	}
}

func TestParseSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"14h": 14 * time.Hour, "30d": 30 * 24 * time.Hour, "1d12h": 36 * time.Hour, "90s": 90 * time.Second, "1.5d": 36 * time.Hour,
	} {
		if got, err := parseSpan(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "0", "0s", "-1h", "d", "-1d", "soon", "1e9d", "NaNd"} {
		if got, err := parseSpan(text); err == nil {
			t.Errorf("%q was taken as %v", text, got)
		}
	}
}

func TestDeadlineFromNow(t *testing.T) {
	zone := time.FixedZone("here", 3600)
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, zone)
	for text, want := range map[string]time.Time{
		"14h":                       now.Add(14 * time.Hour),
		"08:00":                     time.Date(2026, 12, 1, 8, 0, 0, 0, zone),
		"12:00":                     time.Date(2026, 12, 1, 12, 0, 0, 0, zone),
		"23:30":                     time.Date(2026, 11, 30, 23, 30, 0, 0, zone),
		"2026-11-30T13:00:00+02:00": time.Date(2026, 11, 30, 11, 0, 0, 0, time.UTC), // has passed
		"2026-11-30T13:00:00Z":      time.Date(2026, 11, 30, 13, 0, 0, 0, time.UTC),
	} {
		d, err := parseDeadline(text)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if got := d.from(now); !got.Equal(want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"", "25:00", "tomorrow", "-2h", "0s"} {
		if _, err := parseDeadline(text); err == nil {
			t.Errorf("%q was taken", text)
		}
	}
	if at := (deadline{}).from(now); !at.IsZero() {
		t.Errorf("no deadline is %v", at)
	}
}

func TestParsePrices(t *testing.T) {
	p, err := parsePrices("in=3,out=15")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := price.Published().Lookup("claude-sonnet-4-6")
	if diff := cmp.Diff(want.Prices, p); diff != "" {
		t.Errorf("cache prices do not follow the input price (-published +parsed):\n%s", diff)
	}
	if p, err = parsePrices("out=10, in=2, read=0.5"); err != nil || p.Read != 500_000 || p.Out != 10_000_000 {
		t.Errorf("%+v, %v", p, err)
	}
	for _, text := range []string{"", "in=3", "out=3", "in=3,out=-1", "in=3,out=15,in=3", "in=3,out=15,tea=1", "3,15"} {
		if p, err := parsePrices(text); err == nil {
			t.Errorf("%q was taken as %+v", text, p)
		}
	}
}

func TestParseConc(t *testing.T) {
	got, err := parseConc("sonnet=80, Haiku=60")
	if err != nil || got["sonnet"] != 80 || got["haiku"] != 60 {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "sonnet", "sonnet=0", "sonnet=-1", "sonnet=many", "gpt=5"} {
		if got, err := parseConc(text); err == nil {
			t.Errorf("%q was taken as %v", text, got)
		}
	}
	if _, err := parseConc("sonet=5"); err == nil || !strings.Contains(err.Error(), "sonnet") {
		t.Errorf("an unknown family does not name those there are: %v", err)
	}
}

func TestParseOutTokens(t *testing.T) {
	if o, err := parseOutTokens("60,200"); err != nil || o != (outTokens{60, 200}) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, text := range []string{"", "0", "-1", "60,10", "60,", "x"} {
		if o, err := parseOutTokens(text); err == nil {
			t.Errorf("%q was taken as %+v", text, o)
		}
	}
}

func TestParseRetryBudget(t *testing.T) {
	if r, err := parseRetryBudget("30,0.2"); err != nil || r.BudgetPerMin != 30 || r.BudgetPerSucc != 0.2 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := parseRetryBudget("30"); err != nil || r != (flotilla.Retry{BudgetPerMin: 30}) {
		t.Errorf("%+v, %v", r, err)
	}
	for _, text := range []string{"", "-1", "0", "20,", "20,-1"} {
		if r, err := parseRetryBudget(text); err == nil {
			t.Errorf("%q was taken as %+v", text, r)
		}
	}
}

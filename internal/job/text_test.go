package job

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

func TestEndings(t *testing.T) {
	cents := func(n int) flotilla.Money { return flotilla.Money(n) * 10_000_000 }
	for _, c := range []struct {
		name   string
		s      Summary
		report flotilla.Report
		want   []Line
		code   int
	}{
		{
			"cap",
			Summary{N: 9000, Succeeded: 6120, Pending: 2880, CostUSD: cents(1500)},
			flotilla.Report{Cause: flotilla.CapReached, Budget: &flotilla.BudgetExceededError{Cap: cents(1500), Spent: cents(1500), Needs: cents(1)}},
			[]Line{
				{"", "stopped at the cap: $15.00 of $15.00; 6,120 of 9,000 rows done, 2,880 pending"},
				{"hint", "the same command with --max-spend 24 finishes (about $7.06 more)"},
			},
			ExitCap,
		},
		{
			"cap while rows wait to be asked anew",
			Summary{N: 300, Succeeded: 1, Pending: 299, CostUSD: cents(200), ByLane: []LaneSummary{{Succeeded: 60}, {Succeeded: 40}}},
			flotilla.Report{Cause: flotilla.CapReached, Budget: &flotilla.BudgetExceededError{Cap: cents(200), Spent: cents(200), Needs: cents(1)}},
			[]Line{
				{"", "stopped at the cap: $2.00 of $2.00; 1 of 300 rows done, 299 pending"},
				{"hint", "the same command with --max-spend 8.39 finishes (about $5.98 more)"},
			},
			ExitCap,
		},
		{
			"cap of a day",
			Summary{N: 2, Succeeded: 1, Pending: 1},
			flotilla.Report{Cause: flotilla.CapReached, Budget: &flotilla.BudgetExceededError{Cap: cents(100), Spent: cents(99), Needs: cents(5), Per: 24 * time.Hour}},
			[]Line{
				{"", "stopped at the cap for today: $0.99 of $1.00; 1 of 2 rows done, 1 pending"},
				{"hint", "the same command goes on after local midnight, or with a larger cap"},
			},
			ExitCap,
		},
		{
			"deadline",
			Summary{N: 2, Pending: 2},
			flotilla.Report{Cause: flotilla.DeadlinePassed},
			[]Line{{"", "the deadline has passed; 0 of 2 rows done, 2 pending"}, {"hint", "the same command with a later --deadline, or without one, goes on"}},
			ExitDeadline,
		},
		{
			"closed",
			Summary{N: 2, Pending: 2},
			flotilla.Report{Cause: flotilla.LanesClosed, Closed: []flotilla.ClosedLane{
				{Org: "low", Class: "auth"},
				{Org: "batch", Class: "daily", Reopens: time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)},
				{Org: "low", Class: "auth"},
				{Org: "high", Class: "credit", Reopens: time.Date(2026, 11, 30, 4, 47, 0, 0, time.UTC)},
				{Org: "mid", Class: "steady"},
			}},
			[]Line{
				{"", "every lane is closed for longer than --max-wait; 0 of 2 rows done, 2 pending"},
				{"", "org batch: its tokens of the day are used up; reopens 2026-12-01 00:00 UTC"},
				{"", "high: its credit is used up; next try 2026-11-30 04:47 UTC"},
				{"", "low: its key is not accepted; it stays so until somebody mends it"},
				{"", "mid: its limits are used up; not known when it reopens"},
				{"hint", "the same command goes on once a lane is open again"},
			},
			ExitClosed,
		},
		{
			"refused everywhere",
			Summary{N: 2, Pending: 2},
			flotilla.Report{Cause: flotilla.LanesClosed},
			[]Line{{"", "no org takes what is left; 0 of 2 rows done, 2 pending"}, {"hint", "where batches are refused, --tier auto sends the rows by sync"}},
			ExitClosed,
		},
		{
			"interrupted, and rows errored",
			Summary{N: 3, Errored: 1, Pending: 2, Errors: []ErrorGroup{{"api_error", "oops", 1, "r1"}}},
			flotilla.Report{Cause: flotilla.Interrupted},
			[]Line{
				{"", "interrupted; 1 of 3 rows done, 2 pending"},
				{"hint", "everything done is kept; the same command goes on"},
				{"", `1 row: api_error: oops (such as row "r1")`},
				{"hint", "--retry errored sends these rows again"},
			},
			ExitInterrupted,
		},
		{
			"rows canceled",
			Summary{N: 3, Succeeded: 1, Canceled: 2},
			flotilla.Report{},
			[]Line{{"", "2 rows canceled"}, {"hint", "--retry canceled sends these rows again"}},
			ExitRows,
		},
		{
			"invalid requests, one attempt in doubt",
			Summary{N: 3, Succeeded: 1, Errored: 2, InDoubt: 1, Errors: []ErrorGroup{{"invalid_request_error", "no", 2, "r1"}}},
			flotilla.Report{},
			[]Line{
				{"", `2 rows: invalid_request_error: no (such as row "r1")`},
				{"hint", "the API calls these requests invalid: correct the rows; --retry errored would have them refused again"},
				{"", "1 attempt in doubt: may have been answered and billed; the worst case counts as spent"},
			},
			ExitRows,
		},
		{
			"all well, but some cut",
			Summary{N: 3, Succeeded: 3, Truncated: 2, RefusedByModel: 1},
			flotilla.Report{},
			[]Line{{"", "answers: 2 cut by max_tokens, 1 refused by the model"}, {"hint", "--retry truncated,refused sends only these rows again, those cut with twice the room: the same command, --max-tokens as it was"}},
			ExitOK,
		},
	} {
		if diff := cmp.Diff(c.want, c.s.Ending(&c.report)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
		if code := ExitCode(c.report.Cause, nil, &c.s); code != c.code {
			t.Errorf("%s: exit %d, want %d", c.name, code, c.code)
		}
	}
}

// Of several codes, 130, 1, 5, 3, 4, 2 win in that order.
func TestExitCodePrecedence(t *testing.T) {
	left := &Summary{N: 2, Errored: 1, Pending: 1}
	for _, c := range []struct {
		cause flotilla.Cause
		err   error
		s     *Summary
		want  int
	}{
		{flotilla.Interrupted, errFailFast, left, ExitInterrupted},
		{flotilla.LanesClosed, errFailFast, left, ExitError},
		{flotilla.LanesClosed, nil, left, ExitClosed},
		{flotilla.CapReached, nil, left, ExitCap},
		{flotilla.DeadlinePassed, nil, left, ExitDeadline},
		{flotilla.Finished, nil, &Summary{N: 1, Errored: 1}, ExitRows},
		{flotilla.Finished, nil, &Summary{N: 1, Succeeded: 1, Rejected: 1}, ExitRows},
		{flotilla.DeadlinePassed, nil, &Summary{N: 1, Succeeded: 1}, ExitOK},
		{flotilla.Interrupted, nil, &Summary{N: 1, Succeeded: 1}, ExitOK},
	} {
		if got := ExitCode(c.cause, c.err, c.s); got != c.want {
			t.Errorf("%v, %v, %+v: exit %d, want %d", c.cause, c.err, c.s, got, c.want)
		}
	}
}

func TestSummaryText(t *testing.T) {
	s := Summary{
		N: 141_600, Succeeded: 141_598, Errored: 2, Attempts: 141_610, WallS: 1502, BoundS: 1448, PoliteBoundS: 1485, Efficiency: .964,
		CallsPerMin: 5658, P50MS: 812, P95MS: 6700, CostUSD: flotilla.USD(155.14),
		ByLane:  []LaneSummary{{Org: "batch", Pool: "sonnet-4.x", Succeeded: 47_000, Attempts: 47_002, PeakInFlight: 100, P50MS: 812, P95MS: 6700, CostUSD: flotilla.USD(51)}, {Org: "low"}},
		Binding: []BindingSummary{{Limit: "aimd", Org: "batch", Share: .02, Whose: whose("aimd")}, {Limit: "latency", Share: .001}},
	}
	text := s.Text()
	for _, want := range []string{
		"141,600 of 141,600 rows: 141,598 succeeded, 2 errored\n",
		"25m2s, 5,658 calls/min, p50 812 ms, p95 6.7 s; 0 rate-limited, 0 overloaded, 0 transport errors\n",
		"fastest possible 24m8s, with our manners 24m45s: 96 % of the fastest\n",
		"$155.14\n",
		"org batch sonnet-4.x      47,000    47,002            0      100   812 ms    6.7 s     $51.00\n",
		" 2 %  org batch: backing off after refusals Anthropic\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	if strings.Contains(text, "low") || strings.Contains(text, "answers themselves") {
		t.Errorf("lanes without calls and limits without a share are shown:\n%s", text)
	}
}

// Only calls by sync have a latency; the parts of a run that was paused keep
// theirs.
func TestLatencyText(t *testing.T) {
	lane := func(org string, p95 time.Duration) flotilla.LaneReport {
		return flotilla.LaneReport{Org: org, Tier: "sync", P50: p95 / 2, P95: p95}
	}
	first := flotilla.Report{Started: time.Unix(1, 0), P50: time.Second, P95: 2 * time.Second, P99: 2 * time.Second, Lanes: []flotilla.LaneReport{lane("high", 2*time.Second), lane("low", time.Second)}}
	second := flotilla.Report{Lanes: []flotilla.LaneReport{lane("high", 0), lane("low", 3*time.Second)}}
	r := addReport(first, second)
	if r.P50 != time.Second || r.P95 != 2*time.Second || r.P99 != 2*time.Second || r.Lanes[0].P95 != 2*time.Second || r.Lanes[1].P95 != 3*time.Second {
		t.Errorf("%+v", r)
	}
	s := Summary{N: 2, Succeeded: 2, Attempts: 2, WallS: 60, CallsPerMin: 2}
	if text := s.Text(); !strings.Contains(text, "1m0s, 2 calls/min; 0 rate-limited") {
		t.Errorf("%s", text)
	}
}

// The table of interface.md, "Texts": lanes that wait for the same share a line.
func TestBindingText(t *testing.T) {
	var s Summary
	s.take(&flotilla.Report{
		Lanes: []flotilla.LaneReport{{Org: "high", Pool: "sonnet-4.x", Cap: 100, Overloaded: 7}, {Org: "batch", Pool: "sonnet-4.x", Cap: 100}, {Org: "low", Pool: "sonnet-4.x", Cap: 100}},
		Binding: []flotilla.Binding{
			{Limit: "overload", Org: "low", Pool: "sonnet-4.x", Share: .012},
			{Limit: "cap", Org: "high", Pool: "sonnet-4.x", Share: .36, OneStep: &flotilla.OneStep{Value: 150, Saves: 246 * time.Second}},
			{Limit: "rpm", Org: "low", Pool: "sonnet-4.x", Share: .22, OneStep: &flotilla.OneStep{Value: 8000, Saves: 90 * time.Second}},
			{Limit: "cap", Org: "batch", Pool: "sonnet-4.x", Share: .35, OneStep: &flotilla.OneStep{Value: 150, Saves: 246 * time.Second}},
			{Limit: "overload", Org: "high", Pool: "sonnet-4.x", Share: .008},
			{Limit: "ramp", Org: "high", Share: .01, OneStep: &flotilla.OneStep{Saves: 12 * time.Second}},
			{Limit: "otpm", Org: "low", Share: .006, OneStep: &flotilla.OneStep{Value: 800_000}},
			{Limit: "work", Org: "low", Share: .004},
		},
	})
	want := `share of waiting                       whose to change        one step more
71 %  our cap of 100 calls per key     yours and colleagues'  150: −4.1 min
22 %  low: 4,000 requests/min          Anthropic              8,000: −1.5 min
 2 %  Anthropic overloaded (529)       nobody
 1 %  warming up                       yours                  --ramp fast: −12 s
 1 %  low: 400,000 output tokens/min   Anthropic              800,000: nothing
`
	if diff := cmp.Diff(want, bindingText(s.Binding)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if len(s.Binding) != 8 || s.Binding[1].OneStepMore != "150: −4.1 min" {
		t.Errorf("the summary has %+v", s.Binding)
	}
}

// At the cap, what waits for work and what waits for money are one.
func TestBindingAtTheCap(t *testing.T) {
	var s Summary
	s.take(&flotilla.Report{
		Cause: flotilla.CapReached,
		Binding: []flotilla.Binding{
			{Limit: "work", Org: "high", Pool: "haiku-4.5", Share: .6},
			{Limit: "budget", Org: "high", Pool: "haiku-4.5", Tier: "batch", Share: .4},
		},
	})
	want := `share of waiting                       whose to change        one step more
100 %  the cap on money                yours
`
	if diff := cmp.Diff(want, bindingText(s.Binding)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// The brake names an overload only where the provider did, and a lane that a
// person must open is nobody else's to change.
func TestBindingNamesWhatWasWrong(t *testing.T) {
	var s Summary
	s.take(&flotilla.Report{
		Lanes:  []flotilla.LaneReport{{Org: "high", Pool: "haiku-4.5"}, {Org: "batch", Pool: "haiku-4.5"}, {Org: "low", Pool: "haiku-4.5"}},
		Closed: []flotilla.ClosedLane{{Org: "batch", Pool: "haiku-4.5", Class: "credit"}, {Org: "low", Pool: "haiku-4.5", Class: "daily"}},
		Binding: []flotilla.Binding{
			{Limit: "overload", Org: "high", Pool: "haiku-4.5", Share: .5},
			{Limit: "retry_after", Org: "batch", Pool: "haiku-4.5", Share: .3},
			{Limit: "retry_after", Org: "low", Pool: "haiku-4.5", Share: .1},
			{Limit: "aimd", Org: "low", Pool: "haiku-4.5", Tier: "batch", Share: .1},
		},
	})
	want := `share of waiting                       whose to change        one step more
50 %  trouble on the way (5xx, resets) nobody
30 %  org batch: its credit is used up yours
10 %  low: retry-after                 Anthropic
10 %  our window of batches (it grows) nobody
`
	if diff := cmp.Diff(want, bindingText(s.Binding)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A name that is a slip away from one of the table's is told; a guess that is
// further off goes by the family.
func TestNearestModel(t *testing.T) {
	for name, want := range map[string]string{
		"claude-haiku-4.5": "claude-haiku-4-5", "claude-haku-4-5": "claude-haiku-4-5", "Claude-Sonnet-4-6": "claude-sonnet-4-6",
		"claude-sonet-4-6": "claude-sonnet-4-6", "gpt-9-turbo-preview": "", "": "",
	} {
		if got := nearestModel(name, price.Published()); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	got := nearestModel("haiku", price.Published())
	if m, ok := price.Published().Lookup(got); !ok || m.Family() != "haiku" {
		t.Errorf("haiku: %q", got)
	}
}

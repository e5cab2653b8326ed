package price_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/flotilla-llm/flotilla/price"
	"pgregory.net/rapid"
)

func TestNanosString(t *testing.T) {
	for n, want := range map[price.Nanos]string{
		0:                              "$0.00",
		12_340_000_000:                 "$12.34",
		12_345_000_000:                 "$12.35",
		1_230_000:                      "$0.0012",
		10_000_000:                     "$0.01",
		9_990_000:                      "$0.0100",
		1:                              "$0.000000001",
		15:                             "$0.000000015",
		-250_000_000:                   "-$0.25",
		310 * price.Dollar:             "$310.00",
		price.Nanos(math.MaxInt64):     "$9223372036.85",
		price.Nanos(math.MinInt64):     "-$9223372036.85",
		price.Nanos(123_456_000):       "$0.12",
		price.Nanos(1_000_000_000_000): "$1000.00",
	} {
		if got := n.String(); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestNanosExact(t *testing.T) {
	for n, want := range map[price.Nanos]string{
		0: "0.000000000", 1_230_000: "0.001230000", -1: "-0.000000001", 15 * price.Dollar: "15.000000000",
		price.Nanos(math.MinInt64): "-9223372036.854775808",
	} {
		if got := n.Exact(); got != want {
			t.Errorf("%d: %s, want %s", n, got, want)
		}
	}
}

func TestNanosJSON(t *testing.T) {
	b, err := json.Marshal(map[string]price.Nanos{"cost_usd": 1_230_000})
	if want := `{"cost_usd":0.001230000}`; err != nil || string(b) != want {
		t.Errorf("marshalled %s (%v), want %s", b, err, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := price.Nanos(rapid.Int64Range(-math.MaxInt64, math.MaxInt64).Draw(t, "n"))
		b, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		var back price.Nanos
		if err := json.Unmarshal(b, &back); err != nil || back != n {
			t.Fatalf("%d became %s became %d (%v)", n, b, back, err)
		}
	})
}

func TestParse(t *testing.T) {
	for in, want := range map[string]price.Nanos{
		"15": 15 * price.Dollar, "15.50": 15_500_000_000, "$15": 15 * price.Dollar, " $0.25 ": 250_000_000,
		"-$0.25": -250_000_000, ".5": 500_000_000, "0.000000001": 1, "1.0000000000": price.Dollar,
	} {
		if got, err := price.Parse(in); err != nil || got != want {
			t.Errorf("%q: %d (%v), want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "$", "1e3", "15,50", "1.", "--1", "0.0000000001", "99999999999999", "NaN", "$-5", "1 2"} {
		if got, err := price.Parse(in); err == nil {
			t.Errorf("%q: %d, want an error", in, got)
		}
	}
}

func TestUSD(t *testing.T) {
	for in, want := range map[float64]price.Nanos{
		15: 15 * price.Dollar, 0.1: 100_000_000, -2.5: -2_500_000_000, 0.00000000049: 0,
		math.Inf(1): math.MaxInt64, math.Inf(-1): math.MinInt64, 1e300: math.MaxInt64,
	} {
		if got := price.USD(in); got != want {
			t.Errorf("%v: %d, want %d", in, got, want)
		}
	}
	if got := price.USD(math.NaN()); got != 0 {
		t.Errorf("NaN: %d, want 0", got)
	}
}

func TestByBatch(t *testing.T) {
	for n, want := range map[price.Nanos]price.Nanos{0: 0, 1: 1, 2: 1, 3: 2, 1_000_000_001: 500_000_001, math.MaxInt64: math.MaxInt64/2 + 1} {
		if got := n.ByBatch(); got != want {
			t.Errorf("%d by batch: %d, want %d", int64(n), int64(got), int64(want))
		}
	}
}

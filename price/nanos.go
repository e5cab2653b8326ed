package price

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Nanos is an amount of US dollars in whole nano-dollars (billionths). The
// zero value is no money; negative amounts are refunds. It covers ±9.2 billion
// dollars.
type Nanos int64

// Dollar is one US dollar.
const Dollar Nanos = 1e9

const cent = Dollar / 100

// USD gives the amount nearest to a number of dollars. NaN gives 0; what lies
// outside the range gives its end.
func USD(dollars float64) Nanos {
	n := math.Round(dollars * float64(Dollar))
	switch {
	case math.IsNaN(n):
		return 0
	case n >= math.MaxInt64:
		return math.MaxInt64
	case n <= math.MinInt64:
		return math.MinInt64
	}
	return Nanos(n)
}

// Parse reads an amount as people write it: "15", "15.50", "$15", "-$0.25". At
// most nine decimals are money; more are an error, as are exponents.
func Parse(s string) (Nanos, error) {
	t := strings.TrimSpace(s)
	neg := strings.HasPrefix(t, "-")
	t = strings.TrimPrefix(strings.TrimPrefix(t, "-"), "$")
	n, err := decimal(t, 9)
	if err != nil {
		return 0, fmt.Errorf("amount of dollars %q: %w", s, err)
	}
	if neg {
		n = -n
	}
	return Nanos(n), nil
}

// Float is the amount in dollars, as near as a float64 comes.
func (n Nanos) Float() float64 { return float64(n) / float64(Dollar) }

// String is the amount for people: "$12.34". Amounts under a cent show their
// first two digits that are not 0: "$0.0012".
func (n Nanos) String() string {
	sign, u := "", n.magnitude()
	if n < 0 {
		sign = "-"
	}
	decimals := 2
	for lim := uint64(cent); u != 0 && u < lim && decimals < 9; lim /= 10 {
		decimals++
	}
	if decimals > 2 && decimals < 9 {
		decimals++
	}
	step := uint64(1)
	for range 9 - decimals {
		step *= 10
	}
	u = (u + step/2) / step
	scale := uint64(Dollar) / step
	return fmt.Sprintf("%s$%d.%0*d", sign, u/scale, decimals, u%scale)
}

// Exact is the amount in dollars with all nine decimals: "0.001230000".
func (n Nanos) Exact() string { return string(n.AppendExact(nil)) }

// AppendExact appends [Nanos.Exact] to b.
func (n Nanos) AppendExact(b []byte) []byte {
	if n < 0 {
		b = append(b, '-')
	}
	u := n.magnitude()
	b = strconv.AppendUint(b, u/uint64(Dollar), 10)
	b = append(b, '.')
	frac := u % uint64(Dollar)
	for div := uint64(Dollar) / 10; div > 0; div /= 10 {
		b = append(b, byte('0'+frac/div%10))
	}
	return b
}

// magnitude is the absolute value; the smallest int64 has none of its own type.
func (n Nanos) magnitude() uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// MarshalJSON writes a number of dollars with nine decimals, exactly.
func (n Nanos) MarshalJSON() ([]byte, error) { return n.AppendExact(nil), nil }

// UnmarshalJSON reads a number of dollars, or a string of one, without a
// float64 in between.
func (n *Nanos) UnmarshalJSON(b []byte) error {
	s := string(b)
	if s == "null" {
		return nil
	}
	if u, err := strconv.Unquote(s); err == nil {
		s = u
	}
	return n.UnmarshalText([]byte(s))
}

// MarshalText writes [Nanos.Exact].
func (n Nanos) MarshalText() ([]byte, error) { return n.AppendExact(nil), nil }

// UnmarshalText reads what [Parse] reads.
func (n *Nanos) UnmarshalText(b []byte) error {
	v, err := Parse(string(b))
	if err == nil {
		*n = v
	}
	return err
}

// ByBatch is an amount of the sync tier at batch price, half of every price
// (facts/claude-api.md 4.7), rounded up: an upper bound stays one.
func (n Nanos) ByBatch() Nanos { return n/2 + n%2 }

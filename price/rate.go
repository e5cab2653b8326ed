package price

import (
	"fmt"
	"strconv"
	"strings"
)

// Rate is the price of one token class in millionths of a dollar per million
// tokens: $3 per million tokens is 3,000,000. One token at Rate 1 costs a
// thousandth of a nano-dollar, so that every published price is whole.
type Rate int64

// perNano is how many Rate-tokens make a nano-dollar.
const perNano = 1000

// ParseRate reads dollars per million tokens: "3", "0.125", "$15". More than
// six decimals are an error.
func ParseRate(s string) (Rate, error) {
	n, err := decimal(strings.TrimPrefix(strings.TrimSpace(s), "$"), 6)
	if err != nil {
		return 0, fmt.Errorf("price per million tokens %q: %w", s, err)
	}
	return Rate(n), nil
}

// String is dollars per million tokens, in as few decimals as say it: "0.125".
func (r Rate) String() string { return strconv.FormatFloat(float64(r)/1e6, 'f', -1, 64) }

// UnmarshalText reads what [ParseRate] reads.
func (r *Rate) UnmarshalText(b []byte) error {
	v, err := ParseRate(string(b))
	if err == nil {
		*r = v
	}
	return err
}

// MarshalText writes [Rate.String].
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Prices are the list prices of one model, by token class. All zero means that
// no price is known.
type Prices struct {
	In      Rate // input that no cache held
	Out     Rate // output, thinking included
	Write5m Rate // input written to the 5-minute cache
	Write1h Rate // input written to the 1-hour cache
	Read    Rate // input read from a cache
}

// field is the price that a column or flag names; nil for any other name.
func (p *Prices) field(name string) *Rate {
	switch name {
	case "in":
		return &p.In
	case "out":
		return &p.Out
	case "write_5m":
		return &p.Write5m
	case "write_1h":
		return &p.Write1h
	case "read":
		return &p.Read
	}
	return nil
}

// fillCache sets the cache prices that were not given to the ratios which the
// provider's pricing page states for most models: 1.25, 2 and 0.1 times input.
func (p *Prices) fillCache(given map[string]bool) {
	if !given["write_5m"] {
		p.Write5m = p.In * 5 / 4
	}
	if !given["write_1h"] {
		p.Write1h = p.In * 2
	}
	if !given["read"] {
		p.Read = p.In / 10
	}
}

// ParsePrices reads prices given by hand: "in=3,out=15", where write_5m,
// write_1h and read may be added; without them they are 1.25, 2 and 0.1 times
// the input price. in and out are required.
func ParsePrices(s string) (Prices, error) {
	var p Prices
	given := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(part), "=")
		f := p.field(name)
		if !ok || f == nil {
			return Prices{}, fmt.Errorf("price %q: %q is not in=N, out=N, write_5m=N, write_1h=N or read=N", s, part)
		}
		if given[name] {
			return Prices{}, fmt.Errorf("price %q: %s is given twice", s, name)
		}
		r, err := ParseRate(value)
		if err != nil {
			return Prices{}, fmt.Errorf("price %q: %w", s, err)
		}
		*f, given[name] = r, true
	}
	if !given["in"] || !given["out"] {
		return Prices{}, fmt.Errorf("price %q: both in and out are needed", s)
	}
	p.fillCache(given)
	return p, nil
}

package plot

import "testing"

func TestFormat(t *testing.T) {
	for _, c := range []struct {
		unit Unit
		v    float64
		want string
	}{
		{Plain, 0, "0"},
		{Plain, .0125, "0.0125"},
		{Plain, 97.26, "97.3"},
		{Plain, 980, "980"},
		{Plain, 999.6, "1,000"},
		{Plain, 2462.4, "2,462"},
		{Plain, 9999.6, "10k"},
		{Plain, 12_540, "12.5k"},
		{Plain, 999_960, "1M"},
		{Plain, 2_000_364, "2M"},
		{Plain, 1.25e9, "1.25B"},
		{Plain, -1500, "−1,500"},
		{Seconds, .25, "250 ms"},
		{Seconds, .9996, "1 s"},
		{Seconds, 59.97, "1 min"},
		{Seconds, 95, "1 min 35 s"},
		{Seconds, 3599.7, "1 h"},
		{Seconds, 5430, "1 h 31 min"},
		{Seconds, 86400, "24 h"},
		{Seconds, 4 * 86400, "4 d"},
		{Seconds, 100 * 3600, "4 d 4 h"},
		{Dollars, 0, "$0"},
		{Dollars, .0123, "$0.012"},
		{Dollars, .3, "$0.30"},
		{Dollars, 40, "$40"},
		{Dollars, 1500, "$1,500"},
		{Dollars, -.5, "−$0.50"},
		{Percent, .0423, "4.23 %"},
		{Percent, 1, "100 %"},
	} {
		if got := c.unit.Format(c.v); got != c.want {
			t.Errorf("%g as unit %d: %q, want %q", c.v, c.unit, got, c.want)
		}
	}
}

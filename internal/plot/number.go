package plot

import (
	"math"
	"strconv"
	"strings"
)

// Unit is how the values of an axis are written and at which of them its marks
// stand. Titles and labels that quote values of the axis write them by
// [Unit.Format], so that a number looks the same wherever it stands.
type Unit uint8

// The units. Seconds are written as ms, s, min, h or d; Dollars with their sign;
// Percent takes shares: .05 is 5 %.
const (
	Plain Unit = iota
	Seconds
	Dollars
	Percent
)

// Format writes a value to three or four significant digits: 980, 2,000, 12.5k,
// 1.2M; 250 ms, 1 min 35 s, 24 h; $0.012; 4.2 %.
func (u Unit) Format(v float64) string { return u.write(v, usualDigits) }

const usualDigits = 3

// write is Format to n significant digits, for marks that lie close together.
func (u Unit) write(v float64, n int) string {
	if v < 0 {
		return "−" + u.write(-v, n)
	}
	switch u {
	case Seconds:
		return seconds(v, n)
	case Dollars:
		return dollars(v, n)
	case Percent:
		return digits(v*100, n) + " %"
	default:
		return plain(v, n)
	}
}

func plain(v float64, n int) string {
	switch {
	case v >= 999_950_000:
		return digits(v/1e9, n) + "B"
	case v >= 999_950:
		return digits(v/1e6, n) + "M"
	case v >= 9_999.5:
		return digits(v/1e3, n) + "k"
	case v >= 999.5:
		if n <= usualDigits {
			v = math.Round(v)
		}
		s := digits(v, max(n, 4))
		return s[:1] + "," + s[1:]
	default:
		return digits(v, n)
	}
}

// digits writes a number to n significant digits, all of those before the point,
// without zeros at the end. Very large and very small ones get a power of ten.
func digits(v float64, n int) string {
	if v == 0 {
		return "0"
	}
	e := int(math.Floor(math.Log10(v)))
	if e > 15 || e < -12 {
		return strconv.FormatFloat(v, 'g', n, 64)
	}
	s := strconv.FormatFloat(v, 'f', max(n-1-e, 0), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// dollars writes cents as two digits, and below a cent what it takes.
func dollars(v float64, n int) string {
	switch {
	case v >= 999.5:
		return "$" + plain(v, n)
	case n == usualDigits && (v == 0 || v >= .095):
		return "$" + strings.TrimSuffix(strconv.FormatFloat(v, 'f', 2, 64), ".00")
	default:
		return "$" + digits(v, n-1)
	}
}

func seconds(v float64, n int) string {
	switch {
	case v == 0:
		return "0"
	case v < .9995:
		return digits(v*1000, n) + " ms"
	case v < 59.95 || n > usualDigits:
		return digits(v, n) + " s"
	case v < 3599.5:
		return two(math.Round(v), 60, "min", "s")
	case v < 72*3600:
		return two(math.Round(v/60), 60, "h", "min")
	default:
		return two(math.Round(v/3600), 24, "d", "h")
	}
}

// two writes a count of small units as large ones and what is left over.
func two(v, per float64, large, small string) string {
	s := digits(math.Floor(v/per), usualDigits) + " " + large
	if rest := math.Mod(v, per); rest != 0 {
		s += " " + strconv.FormatFloat(rest, 'f', 0, 64) + " " + small
	}
	return s
}

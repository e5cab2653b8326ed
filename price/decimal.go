package price

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

var errNotNumber = errors.New("not a number such as 3 or 0.25")

// decimal reads an unsigned decimal number, scaled by 10^places, exactly.
func decimal(s string, places int) (int64, error) {
	whole, frac, dot := strings.Cut(s, ".")
	if whole == "" && frac == "" || dot && frac == "" {
		return 0, errNotNumber
	}
	frac = strings.TrimRight(frac, "0")
	if len(frac) > places {
		return 0, fmt.Errorf("more than %d decimals", places)
	}
	var n int64
	for i := range len(whole) + places {
		d := digit(whole, frac, i)
		if d < 0 || d > 9 {
			return 0, errNotNumber
		}
		if n > (math.MaxInt64-d)/10 {
			return 0, errors.New("too large")
		}
		n = n*10 + d
	}
	return n, nil
}

// digit is the i-th digit of whole followed by frac and as many zeros as asked
// for; what is no digit falls outside 0 to 9.
func digit(whole, frac string, i int) int64 {
	if i < len(whole) {
		return int64(whole[i]) - '0'
	}
	if i -= len(whole); i < len(frac) {
		return int64(frac[i]) - '0'
	}
	return 0
}

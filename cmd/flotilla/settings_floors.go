package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// floor is a part of a limit that is left to others: a share of its learned
// capacity (negative: none), or so many tokens of the token buckets. The zero
// floor is the default.
type floor struct{ Share, Tokens float64 }

// The floors where nobody says anything (interface.md, "floors").
const defaultSoft, defaultHard = 0.10, 0.02

// leastTokens is the smallest floor in tokens: a bare number below it is more
// likely a share whose percent sign is missing.
const leastTokens = 100

// parseFloor reads a share, "10%" or "0.1", or tokens, "50_000"; 0 is none.
func parseFloor(text string) (floor, error) {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(strings.ReplaceAll(strings.TrimSpace(number), "_", ""), 64)
	if percent {
		v /= 100
	}
	switch {
	case err != nil || !(v >= 0) || v >= 1 && (percent || v < leastTokens || math.IsInf(v, 0)):
		return floor{}, fmt.Errorf("%q is no floor: a share below 100%% such as 10%%, or tokens such as 50000; 0 for none", text)
	case v == 0:
		return floor{Share: -1}, nil
	case v >= 1:
		return floor{Tokens: v}, nil
	}
	return floor{Share: v}, nil
}

// checkFloors refuses a hard floor above the soft one: between them sending
// slows to a trickle, and there would be no between.
func (s *Settings) checkFloors() error {
	soft, hard := s.SoftFloor, s.HardFloor
	above := false
	switch {
	case soft.Tokens > 0 && hard.Tokens > 0:
		above = hard.Tokens > soft.Tokens
	case soft.Tokens == 0 && hard.Tokens == 0:
		above = soft.of(defaultSoft) > 0 && hard.of(defaultHard) > soft.of(defaultSoft)
	} // a share and tokens compare once the limits are known
	if !above {
		return nil
	}
	return withHint(fmt.Errorf("--hard-floor %s is above --soft-floor %s", hard.text(defaultHard), soft.text(defaultSoft)),
		"set both, the hard one below: --soft-floor 20% --hard-floor 5%; or floors: {soft: 20%, hard: 5%} in "+configName)
}

// of is the share that a floor means; 0: none.
func (f floor) of(standard float64) float64 {
	if f.Share == 0 {
		return standard
	}
	return max(f.Share, 0)
}

func (f floor) text(standard float64) string {
	if f.Tokens > 0 {
		return fmt.Sprintf("%.0f", f.Tokens)
	}
	return fmt.Sprintf("%g%%", math.Round(f.of(standard)*1e6)/1e4) // without the digits that binary fractions add
}

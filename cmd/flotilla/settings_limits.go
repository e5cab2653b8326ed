package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// concPrefix begins the variables that cap attempts in flight by family.
const concPrefix = "EPS_API_CONC_"

// defaultConfirm is how many dollars a job may be expected to cost before a
// person at a terminal is asked (interface.md, "spend").
const defaultConfirm = 20 * price.Dollar

// readConc fills the caps by family: the environment over files, nearest first.
func (s *Settings) readConc(files []*configFile) error {
	s.Conc = map[string]int{}
	for _, c := range slices.Backward(files) {
		for family, v := range c.Caps {
			n, err := parseCap(v.text)
			if err != nil {
				return v.errorf("caps.%s: %s", family, err)
			}
			s.Conc[strings.ToLower(family)] = n
		}
	}
	for name, value := range s.Env.names(concPrefix) {
		n, err := parseCap(value)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.Conc[strings.ToLower(strings.TrimPrefix(name, concPrefix))] = n
	}
	return nil
}

// parseCap reads a cap on attempts in flight.
func parseCap(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 100_000 {
		return 0, fmt.Errorf("%q is no number of calls from 1 to 100,000", text)
	}
	return n, nil
}

// readManners fills floors, retries, share and ramp.
func (s *Settings) readManners(files []*configFile) error {
	get := func(pick func(*configFile) scalar, parse func(string) error) error {
		v, _ := first(files, pick)
		if !v.set() {
			return nil
		}
		if err := parse(v.text); err != nil {
			return v.errorf("%s", err)
		}
		return nil
	}
	r := &s.Retry
	for _, row := range []struct {
		pick  func(*configFile) scalar
		parse func(string) error
	}{
		{func(c *configFile) scalar { return c.Floors.Soft }, into(&s.SoftFloor, parseFloor)},
		{func(c *configFile) scalar { return c.Floors.Hard }, into(&s.HardFloor, parseFloor)},
		{func(c *configFile) scalar { return c.Retry.MaxAttempts }, into(&r.MaxAttempts, parseAttempts)},
		{func(c *configFile) scalar { return c.Retry.BaseDelay }, into(&r.BaseDelay, parseWait)},
		{func(c *configFile) scalar { return c.Retry.MaxDelay }, into(&r.MaxDelay, parseWait)},
		{func(c *configFile) scalar { return c.Retry.BudgetPerMin }, into(&r.BudgetPerMin, parseBudget)},
		{func(c *configFile) scalar { return c.Retry.BudgetPerSuccess }, into(&r.BudgetPerSucc, parseBudget)},
		{func(c *configFile) scalar { return c.Share }, into(&s.Share, parseShare)},
		{func(c *configFile) scalar { return c.Ramp }, into(&s.Ramp, parseRamp)},
	} {
		if err := get(row.pick, row.parse); err != nil {
			return err
		}
	}
	return nil
}

// readMoney fills the caps on spending.
func (s *Settings) readMoney(files []*configFile) error {
	s.Confirm = defaultConfirm
	for _, row := range []struct {
		pick func(*configFile) scalar
		to   *flotilla.Money
	}{
		{func(c *configFile) scalar { return c.Spend.MaxUSD }, &s.MaxSpend},
		{func(c *configFile) scalar { return c.Spend.MaxUSDPerDay }, &s.MaxSpendPerDay},
		{func(c *configFile) scalar { return c.Spend.ConfirmUSD }, &s.Confirm},
	} {
		v, _ := first(files, row.pick)
		if !v.set() {
			continue
		}
		usd, err := price.Parse(v.text)
		if err != nil || usd <= 0 {
			return v.errorf("%q is no amount of dollars above 0", v.text)
		}
		*row.to = usd
	}
	return nil
}

// into makes a parser that stores what it read.
func into[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(text string) (err error) {
		*to, err = parse(text)
		return err
	}
}

func parseAttempts(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 100 {
		return 0, fmt.Errorf("%q is no number of attempts from 1 to 100", text)
	}
	return n, nil
}

func parseWait(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%q is no time above 0 such as 2s or 1m30s", text)
	}
	return d, nil
}

func parseBudget(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is no number above 0", text)
	}
	return v, nil
}

func parseShare(text string) (flotilla.Share, error) {
	switch text {
	case "polite":
		return flotilla.SharePolite, nil
	case "default":
		return flotilla.ShareDefault, nil
	case "fair":
		return flotilla.ShareFair, nil
	}
	return 0, fmt.Errorf("%q is no share: polite, default or fair", text)
}

func parseRamp(text string) (flotilla.Ramp, error) {
	switch text {
	case "polite":
		return flotilla.RampPolite, nil
	case "fast":
		return flotilla.RampFast, nil
	}
	return 0, fmt.Errorf("%q is no ramp: polite or fast", text)
}

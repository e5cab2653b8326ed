package emulator

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"github.com/goccy/go-yaml"
)

// Load reads a scenario from YAML. Its fields are those of [Scenario]; what it
// leaves out is as in the scenario that "base" names (default: "default"). A
// list that it gives replaces the base's. Unknown fields and impossible values
// are errors.
func Load(r io.Reader) (Scenario, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return Scenario{}, fmt.Errorf("reading the scenario: %w", err)
	}
	var head struct {
		Base string `yaml:"base"`
	}
	if err := yaml.Unmarshal(text, &head); err != nil {
		return Scenario{}, fmt.Errorf("reading the scenario: %w", err)
	}
	if head.Base == "" {
		head.Base = "default"
	}
	sc, err := Named(head.Base)
	if err != nil {
		return Scenario{}, err
	}
	sc.Name = "custom"
	if err := yaml.UnmarshalWithOptions(text, &sc, yaml.Strict()); err != nil {
		return Scenario{}, fmt.Errorf("reading the scenario: %w", err)
	}
	return sc, sc.Check()
}

// Check finds what cannot be meant.
func (sc *Scenario) Check() error {
	if len(sc.Orgs) == 0 {
		return errors.New("the scenario has no orgs")
	}
	names := map[string]bool{}
	for i := range sc.Orgs {
		o := &sc.Orgs[i]
		if err := o.check(); err != nil {
			return err
		}
		if names[o.Name] {
			return fmt.Errorf("the scenario has two orgs named %q", o.Name)
		}
		names[o.Name] = true
	}
	for _, r := range sc.Answers {
		if _, err := regexp.Compile(r.Match); err != nil {
			return fmt.Errorf("answers: %w", err)
		}
	}
	shares := []float64{
		sc.Stragglers.Share, sc.Storm.Streams,
		sc.Flaky.Before, sc.Flaky.After, sc.Flaky.Cut, sc.Flaky.Reused,
	}
	for _, p := range sc.Storm.Phases {
		shares = append(shares, p.Share)
	}
	if err := sc.Batches.check(); err != nil {
		return err
	}
	return checkShares("the scenario", shares...)
}

func (o *Org) check() error {
	if o.Name == "" {
		return errors.New("an org of the scenario has no name")
	}
	for p := range o.Pools {
		if !slices.Contains(pools, p) {
			return fmt.Errorf("org %s: no pool %q; there are %v", o.Name, p, pools)
		}
	}
	if k := o.Acceleration.Kind; k != "" && k != "additive" && k != "ratio" {
		return fmt.Errorf("org %s: no acceleration %q; there are additive, ratio", o.Name, k)
	}
	if t := o.Acceleration.Text; t != "" && t != "numbers" && t != "words" && t != "none" {
		return fmt.Errorf("org %s: no acceleration text %q; there are numbers, words, none", o.Name, t)
	}
	for _, c := range o.Colleagues {
		if c.Kind != "poisson" && c.Kind != "burst" && c.Kind != "aimd" {
			return fmt.Errorf("org %s: no colleague %q; there are poisson, burst, aimd", o.Name, c.Kind)
		}
		if c.Pool != "" && !slices.Contains(pools, c.Pool) {
			return fmt.Errorf("org %s: a colleague uses pool %q; there are %v", o.Name, c.Pool, pools)
		}
	}
	for i := range o.BatchColleagues {
		if err := o.BatchColleagues[i].check(o.Name); err != nil {
			return err
		}
	}
	return checkShares("org "+o.Name, o.Headers.Drop, o.Headers.Stale)
}

func checkShares(where string, shares ...float64) error {
	for _, s := range shares {
		if s < 0 || s > 1 {
			return fmt.Errorf("%s: %v is no share between 0 and 1", where, s)
		}
	}
	return nil
}

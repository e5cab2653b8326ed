package emulator

import (
	"strings"
	"testing"
	"time"
)

func TestLoadKeepsTheBase(t *testing.T) {
	sc, err := Load(strings.NewReader(`
base: tier-start
name: slow
latency: {ttft: 2s, per_second: 50}
storm: {start: 1m, phases: [{for: 10s, share: 0.5}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	if sc.Name != "slow" || sc.Latency.TTFT != 2*time.Second || sc.Latency.PerSecond != 50 || sc.Latency.TTFTSD != 0.35 {
		t.Errorf("loaded %+v", sc.Latency)
	}
	if len(sc.Orgs) != 3 || sc.Orgs[0].Limits != tierStart {
		t.Errorf("orgs %+v are not the base's", sc.Orgs)
	}
	if sc.Storm.Phases[0].For != 10*time.Second {
		t.Errorf("storm %+v", sc.Storm)
	}
}

func TestLoadRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"base: nope", `no scenario "nope"`},
		{"latencies: {}", "latencies"},
		{"orgs: [{limits: {requests: 5}}]", "no name"},
		{"orgs: [{name: a}, {name: a}]", "two orgs"},
		{"orgs: [{name: a, pools: {sonnet-9: {requests: 5}}}]", "sonnet-9"},
		{"orgs: [{name: a, acceleration: {kind: cubic}}]", "cubic"},
		{"orgs: [{name: a, acceleration: {kind: ratio, text: loud}}]", "loud"},
		{"orgs: [{name: a, colleagues: [{kind: quic}]}]", "quic"},
		{"orgs: [{name: a, colleagues: [{kind: aimd, pool: x}]}]", `"x"`},
		{"orgs: []", "no orgs"},
		{"stragglers: {share: 7}", "share between"},
		{"answers: [{match: '('}]", "answers"},
		{"latency: {ttft: soon}", "soon"},
	} {
		_, err := Load(strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.text, err, c.want)
		}
	}
}

func TestNamedScenariosAreValid(t *testing.T) {
	for _, name := range Scenarios() {
		sc, err := Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := sc.Check(); err != nil || sc.Name != name {
			t.Errorf("%s: name %q, %v", name, sc.Name, err)
		}
	}
	if _, err := Named("no-such"); err == nil || !strings.Contains(err.Error(), "tier-start") {
		t.Errorf("an unknown name gives %v, not the list", err)
	}
}

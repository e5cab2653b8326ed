package flotilla

import (
	"errors"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// Every kind of refusal that the dialect tells apart reaches the scheduler as a
// kind of its own: one left out of the map would pass for a fault of the call.
func TestClassesAreMapped(t *testing.T) {
	seen := map[sched.Class]wire.Class{}
	for c := range wire.NumClasses {
		to := classes[c]
		if before, twice := seen[to]; twice {
			t.Errorf("%v and %v are one class to the scheduler", before, c)
		}
		seen[to] = c
	}
	if len(seen) != int(sched.NumClasses) {
		t.Errorf("%d classes are mapped, the scheduler knows %d", len(seen), sched.NumClasses)
	}
}

// Keys and base URL come from one environment: a program that is pointed at an
// emulator must not call the provider.
func TestOrgsFromReadsTheBaseURL(t *testing.T) {
	env := map[string]string{"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BATCH_KEY": "b", "ANTHROPIC_BASE_URL": "http://127.0.0.1:4010"}
	orgs := OrgsFrom(func(name string) string { return env[name] })
	if len(orgs) != 2 || orgs[0].BaseURL != env["ANTHROPIC_BASE_URL"] || orgs[1].BaseURL != env["ANTHROPIC_BASE_URL"] {
		t.Fatalf("%+v", orgs)
	}
	f, err := New(Config{Orgs: orgs})
	if err != nil || f.cfg.BaseURL != env["ANTHROPIC_BASE_URL"] {
		t.Errorf("calls go to %s, %v", f.cfg.BaseURL, err)
	}
}

func TestNoOrgErrorSaysWhy(t *testing.T) {
	refused := &NoOrgError{Orgs: []OrgInfo{{Name: "high", Err: &APIError{Status: 401, Type: "authentication_error", Message: "API key is invalid."}}}}
	down := &NoOrgError{Orgs: []OrgInfo{{Name: "high", Err: &TransportError{Err: errors.New("connection refused")}}}}
	for _, c := range []struct {
		err         error
		unreachable bool
		says        string
	}{
		{refused, false, "no usable key: high: authentication_error"},
		{down, true, "no org can be reached: high: connection refused"},
	} {
		if !errors.Is(c.err, ErrNoOrg) || errors.Is(c.err, ErrUnreachable) != c.unreachable || !strings.HasPrefix(c.err.Error(), c.says) {
			t.Errorf("%v", c.err)
		}
	}
}

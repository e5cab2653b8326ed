package lab

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/memnet"
)

// epoch is where the tests' time lines begin, in the middle of a minute.
var epoch = time.Date(2026, 11, 30, 11, 0, 17, 0, time.UTC)

// virtual runs f against an emulator on virtual time, with an Env that knows
// what a greeting tells.
func virtual(t *testing.T, sc emulator.Scenario, f func(t *testing.T, env *Env, s *emulator.Server)) {
	t.Helper()
	virtualSeed(t, sc, 1, f)
}

// virtualSeed is virtual with another seed of the emulator.
func virtualSeed(t *testing.T, sc emulator.Scenario, seed uint64, f func(t *testing.T, env *Env, s *emulator.Server)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		s, err := emulator.New(emulator.Options{Scenario: sc, Seed: seed, Start: epoch})
		if err != nil {
			t.Fatal(err)
		}
		l := memnet.Listen()
		served := make(chan error)
		go func() { served <- s.Serve(l) }()
		var used []*http.Transport
		env := &Env{
			Orgs: EmulatedOrgs(sc), BaseURL: "http://emulated", Seed: 1, Window: "test", Dir: dir, Build: "test", Log: func(s string) { t.Log(s) },
			Transport: func(*Org) http.RoundTripper {
				tr := l.Transport()
				used = append(used, tr)
				return tr
			},
		}
		defer func() { // also where f gives up
			for _, tr := range used {
				tr.CloseIdleConnections()
			}
			if err := errors.Join(s.Close(), <-served); err != nil {
				t.Error(err)
			}
		}()
		if _, err := Greet(t.Context(), env); err != nil {
			t.Fatal(err)
		}
		f(t, env, s)
	})
}

// scenario is one of the emulator.
func scenario(t *testing.T, name string) emulator.Scenario {
	t.Helper()
	sc, err := emulator.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	return sc
}

// billed is what the emulator billed so far, in nano-dollars.
func billed(s *emulator.Server) (sum int64) {
	for _, o := range s.Stats().Orgs {
		sum += o.Batches.Billed
		for _, p := range o.Pools {
			sum += p.Billed
		}
	}
	return sum
}

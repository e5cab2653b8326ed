package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"flotilla": main, "load-upstream": loadUpstream, "load-proxy": loadProxy, "ask": askGateway})
}

// TestScripts runs the program on the command lines of testdata/*.txt, each in
// a fresh directory and with no environment but what it sets.
func TestScripts(t *testing.T) {
	t.Parallel()
	api, fast := newStandIn(t), newEmulator(t, 20)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("API", api.URL)      // answers free reads with fixed figures
			env.Setenv("EMULATOR_20", fast) // an emulator at speed 20
			env.Setenv("HOME", env.WorkDir)
			return nil
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// announced is standard error of a command under test; url gets the address
// that it announces.
type announced struct {
	text bytes.Buffer
	url  chan string
	told bool
}

func (a *announced) Write(p []byte) (int, error) {
	a.text.Write(p)
	first, _, whole := strings.Cut(a.text.String(), "\n")
	if url, ok := strings.CutPrefix(first, "listening on "); ok && whole && !a.told {
		a.told = true
		a.url <- url
	}
	return len(p), nil
}

// emulate serves what its flags say, and ends with exit code 130 and without
// an error when it is interrupted.
func TestEmulateServesUntilInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scenario.yaml")
	if err := os.WriteFile(file, []byte("base: steady\nname: mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	said := &announced{url: make(chan string, 1)}
	ended := make(chan int, 1)
	go func() {
		ended <- Run(ctx, []string{"emulate", "--listen", "127.0.0.1:0", "--scenario", file, "--seed", "9", "--speed", "3", "--start", "2026-11-30T09:00:00Z"}, nil, strings.NewReader(""), io.Discard, said)
	}()
	var url string
	select {
	case url = <-said.url:
	case code := <-ended:
		t.Fatalf("ended with %d: %s", code, said.text.String())
	}
	res, err := http.Get(url + "/emulator/healthz") //nolint:noctx // a loopback server of the test
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if h := res.Header; h.Get("Flotilla-Emulated") != "mine/9" || h.Get("Flotilla-Speed") != "3" || !strings.Contains(h.Get("Date"), "30 Nov 2026 09:0") {
		t.Errorf("headers %v", h)
	}
	cancel()
	if code := <-ended; code != 0 && code != 130 {
		t.Errorf("exit code %d: %s", code, said.text.String())
	}
	if !strings.Contains(said.text.String(), "\nkeys: sk-ant-emulated-high, sk-ant-emulated-batch, sk-ant-emulated-low\n") {
		t.Errorf("the keys are not told: %s", said.text.String())
	}
	if strings.Contains(said.text.String(), "error") {
		t.Errorf("said %s", said.text.String())
	}
}

func TestEmulateRefusesBadFlags(t *testing.T) {
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.yaml")
	if err := os.WriteFile(bad, []byte("latencies: 5\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--speed", "0"}, []string{"--speed 0", "hint:"}},
		{[]string{"--speed", "-2"}, []string{"--speed -2", "hint:"}},
		{[]string{"--speed", "NaN"}, []string{"--speed NaN"}},
		{[]string{"--start", "yesterday"}, []string{"yesterday", "hint:"}},
		{[]string{"--scenario", "no-such"}, []string{"no-such", "hint:", "tier-start"}},
		{[]string{"--scenario", bad}, []string{"bad.yaml", "latencies"}},
		{[]string{"--scenario", dir}, []string{dir}},
		{[]string{"--listen", "nowhere:-1"}, []string{"listening", "hint:"}},
		{[]string{"extra"}, []string{"no arguments"}},
	} {
		var stderr bytes.Buffer
		code := Run(t.Context(), append([]string{"emulate"}, c.args...), nil, strings.NewReader(""), io.Discard, &stderr)
		if code != 1 {
			t.Errorf("%v: exit code %d", c.args, code)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr.String(), want) {
				t.Errorf("%v: no %q in %s", c.args, want, stderr.String())
			}
		}
	}
}

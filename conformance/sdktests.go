package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const sdkModule = "github.com/anthropics/anthropic-sdk-go/v2"

// ownTests are the SDK's files of tests that are about what the emulator
// serves. They are run as they are; the others are left out, since they want a
// server of other things.
var ownTests = []string{
	"message_test.go", "messagebatch_test.go", "model_test.go", "messageutil_test.go",
	"betamessage_test.go", "betamessagebatch_test.go", "betamodel_test.go",
	"paginationauto_test.go", "paginationmanual_test.go", "usage_test.go",
}

// known is a test that fails against an honest API, and how.
type known struct{ says, why string }

// sdkTests runs the Go SDK's own tests against the emulator, and holds what
// fails against the list of what must.
func (r *run) sdkTests(ctx context.Context) error {
	list, err := readKnown(filepath.Join(r.home, "sdk-tests.txt"))
	if err != nil {
		return err
	}
	dir, err := r.copySDK(ctx)
	if err != nil {
		return err
	}
	t, err := r.direct(ctx)
	if err != nil {
		return err
	}
	defer t.stop() //nolint:errcheck // what is told matters more
	front := placeholders(t)
	defer front.Close()
	cmd := exec.CommandContext(ctx, "go", "test", "-trimpath", "-count=1", "-json", ".")
	cmd.Dir, cmd.Env = dir, append(plainEnv(), "TEST_API_BASE_URL="+front.URL)
	out, ran := cmd.Output()
	results, said, err := readTests(out)
	if err != nil || len(results) == 0 {
		return errors.Join(fmt.Errorf("running the SDK's tests: %w\n%s", ran, out), err)
	}
	return judgeTests(list, results, said)
}

// copySDK copies the SDK out of the module cache, which cannot be written to,
// with the tests that are run.
func (r *run) copySDK(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", sdkModule)
	cmd.Dir = r.home
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", sdkModule, err)
	}
	src, dir := strings.TrimSpace(string(out)), filepath.Join(r.scratch, "sdk")
	return dir, filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.MkdirAll(filepath.Join(dir, rel), 0o755)
		case strings.HasSuffix(rel, "_test.go") && !slices.Contains(ownTests, rel):
			return nil
		}
		return copyFile(filepath.Join(dir, rel), path)
	})
}

// What the SDK's tests present is none of any API's; their mock server does not
// look. Everything else they say goes on as it is.
const (
	placeholderKey       = "my-anthropic-api-key"
	placeholderWorkspace = "wrkspc_011CZkZaBF1tNoB5wlCeusgy"
)

// placeholders puts a key that is good in the placeholder's place.
func placeholders(t *target) *httptest.Server {
	to, _ := url.Parse(t.url) // it was announced, and served
	return httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		p.SetURL(to)
		swap(p.Out.Header, t.key)
	}})
}

func swap(h http.Header, key string) {
	if h.Get("X-Api-Key") == placeholderKey {
		h.Set("X-Api-Key", key)
	}
	if h.Get("Authorization") == "Bearer "+placeholderKey { // what the SDK makes of a key that is none of the API's
		h.Set("Authorization", "Bearer "+key)
	}
	if h.Get("Anthropic-Workspace-Id") == placeholderWorkspace {
		h.Del("Anthropic-Workspace-Id")
	}
}

// readKnown reads lines "test | what its output says | why it fails".
func readKnown(file string) (map[string]known, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	list := map[string]known{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 3 {
			return nil, fmt.Errorf("%s: %q is not test | text | why", file, line)
		}
		list[parts[0]] = known{parts[1], parts[2]}
	}
	return list, nil
}

// readTests reads what go test -json writes: how each test ended, and what it
// said.
func readTests(out []byte) (results map[string]string, said map[string]string, err error) {
	results, said = map[string]string{}, map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct{ Action, Test, Output string }
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			continue // a compiler's complaint, which the caller prints
		}
		switch {
		case e.Test == "":
		case e.Action == "output":
			said[e.Test] += e.Output
		case e.Action == "pass" || e.Action == "fail" || e.Action == "skip":
			results[e.Test] = e.Action
		}
	}
	return results, said, lines.Err()
}

// judgeTests compares: what fails must be listed and say what the list says,
// what is listed must fail.
func judgeTests(list map[string]known, results, said map[string]string) error {
	var faults []string
	n := map[string]int{}
	for _, test := range slices.Sorted(maps.Keys(results)) {
		k, listed := list[test]
		n[results[test]]++
		switch how := results[test]; {
		case how == "fail" && !listed:
			faults = append(faults, test+" fails and is not listed:\n"+said[test])
		case how == "fail" && !strings.Contains(said[test], k.says):
			faults = append(faults, fmt.Sprintf("%s fails otherwise than by %q:\n%s", test, k.says, said[test]))
		case how != "fail" && listed:
			faults = append(faults, test+" is listed as failing: "+how)
		}
	}
	for test := range list {
		if results[test] == "" {
			faults = append(faults, test+" is listed and was not run")
		}
	}
	fmt.Printf("the Go SDK's own tests: %d pass, %d fail as listed or not, %d skipped; %d faults\n", n["pass"], n["fail"], n["skip"], len(faults))
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "\n"))
	}
	return nil
}

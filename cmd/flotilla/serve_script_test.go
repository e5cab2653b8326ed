package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestServeScripts runs the gateway and clients of it. Its scripts have these
// commands besides those of TestRunScripts:
//
//	gateway ARGS…   begins `flotilla serve --listen 127.0.0.1:0 ARGS…` at $GATEWAY; its standard error goes to serve.log
//	stop CODE       ends it by SIGTERM and compares its exit code
//	ended CODE      waits until it ends by itself
//	ask …           a client of it: askGateway
//	key NAME FILE   sets $NAME to the first line of a file
func TestServeScripts(t *testing.T) {
	runScriptsWith(t, "testdata/serve", map[string]func(*testscript.TestScript, bool, []string){
		"gateway": scriptGateway, "stop": scriptStop, "ended": scriptEnded, "key": scriptKey,
	})
}

// askGateway is a program that knows a base URL and a key and nothing else: it
// prints the status and the body of an answer.
//
//	ask [-base URL] [-key KEY] [-header 'NAME: VALUE'] METHOD PATH [BODY]
func askGateway() {
	base := flag.String("base", os.Getenv("ANTHROPIC_BASE_URL"), "")
	key := flag.String("key", os.Getenv("ANTHROPIC_API_KEY"), "")
	header := flag.String("header", "", "")
	flag.Parse()
	err := func() error {
		req, err := http.NewRequest(flag.Arg(0), *base+flag.Arg(1), strings.NewReader(flag.Arg(2))) //nolint:noctx // a test's client
		if err != nil {
			return err
		}
		req.Header.Set("X-Api-Key", *key)
		req.Header.Set("Content-Type", "application/json")
		if name, value, ok := strings.Cut(*header, ": "); ok {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		fmt.Println(resp.StatusCode)
		_, err = io.Copy(os.Stdout, resp.Body)
		fmt.Println()
		return err
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(9)
	}
}

// gatewayKey is where a script keeps its gateway.
const gatewayKey = "gateway"

func scriptGateway(ts *testscript.TestScript, _ bool, args []string) {
	program, err := exec.LookPath(filepath.Join(strings.Split(ts.Getenv("PATH"), string(os.PathListSeparator))[0], "flotilla"))
	ts.Check(err)
	log, err := os.Create(ts.MkAbs("serve.log"))
	ts.Check(err)
	cmd := exec.Command(program, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Stderr = ts.MkAbs("."), log
	for _, name := range []string{"HOME", "PATH", "ANTHROPIC_API_KEY", "ANTHROPIC_BATCH_KEY", "ANTHROPIC_API_KEY_LOW_PRIO", "ANTHROPIC_BASE_URL"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(cmd.Start())
	*ts.Value(gatewayKey).(**exec.Cmd) = cmd
	ts.Defer(func() { _ = cmd.Process.Kill() })
	for range 1000 {
		if url := lineAfter(log.Name(), "listening on "); url != "" {
			ts.Setenv("GATEWAY", url)
			return
		}
		time.Sleep(10 * time.Millisecond) // another process is waited for
	}
	ts.Fatalf("%s", ts.ReadFile("serve.log"))
}

// lineAfter is the rest of the line of a file that begins so.
func lineAfter(path, prefix string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), prefix); ok {
			return rest
		}
	}
	return ""
}

func scriptStop(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check((*ts.Value(gatewayKey).(**exec.Cmd)).Process.Signal(syscall.SIGTERM))
	scriptEnded(ts, neg, args)
}

func scriptEnded(ts *testscript.TestScript, _ bool, args []string) {
	cmd := *ts.Value(gatewayKey).(**exec.Cmd)
	code := 0
	var exit *exec.ExitError
	if err := cmd.Wait(); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s:\n%s", code, args[0], ts.ReadFile("serve.log"))
	}
}

func scriptKey(ts *testscript.TestScript, _ bool, args []string) {
	line, _, _ := strings.Cut(ts.ReadFile(args[1]), "\n")
	if line == "" {
		ts.Fatalf("%s is empty", args[1])
	}
	ts.Setenv(args[0], line)
}

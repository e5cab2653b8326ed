//go:build unix

package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/journal"
)

// killSpeed is how many seconds the emulator and the gateway see in a real one.
const killSpeed = 120

// Variables of a process of the test binary that plays a gateway.
const (
	playVariable = "FLOTILLA_TEST_GATEWAY"      // its directory
	baseVariable = "FLOTILLA_TEST_GATEWAY_BASE" // the emulator
	killVariable = "FLOTILLA_TEST_GATEWAY_KILL" // the step at which it kills itself
)

// TestPlayGateway is the gateway of the tests below: a process of its own, that
// dies as kill -9 has it.
func TestPlayGateway(t *testing.T) {
	dir, base := os.Getenv(playVariable), os.Getenv(baseVariable)
	if dir == "" {
		t.Skip("is run by others")
	}
	ctx := context.Background()
	j, err := journal.Open(ctx, filepath.Join(dir, "journal.db"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := flotilla.New(flotilla.Config{
		BaseURL: base, Speed: killSpeed, Ramp: flotilla.RampFast, Store: j,
		Orgs: []flotilla.Org{{Name: "high", Key: flotilla.Key(emulator.Key("high"))}, {Name: "low", Key: flotilla.Key(emulator.Key("low"))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	orgs, err := fleet.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	dieAt.Store(os.Getenv(killVariable))
	g, err := New(ctx, Config{
		Fleet: fleet, Journal: j, Provider: "http://emulator", Emulated: orgs[0].Emulated, Spool: filepath.Join(dir, "batches"),
	})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("listening on", l.Addr())
	go func() { // ends with the process that began it
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	t.Fatal(http.Serve(l, g))
}

var dieAt atomic.Value

func init() {
	if os.Getenv(playVariable) == "" {
		return
	}
	batchStep = func(at string) {
		if at == dieAt.Load() {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal is on its way
		}
	}
}

// played is such a process.
type played struct {
	t     testing.TB
	cmd   *exec.Cmd
	stdin io.Closer
	url   string
	dead  chan error
}

func play(t testing.TB, dir, base, kill string) *played {
	t.Helper()
	p := &played{t: t, cmd: exec.Command(os.Args[0], "-test.run=^TestPlayGateway$"), dead: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), playVariable+"="+dir, baseVariable+"="+base, killVariable+"="+kill)
	p.cmd.Stderr = os.Stderr
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p.stdin = in
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			p.url = "http://" + addr
			break
		}
	}
	go func() {
		_, _ = io.Copy(io.Discard, out)
		p.dead <- p.cmd.Wait()
	}()
	if p.url == "" && kill == "" {
		t.Fatal("the gateway does not begin")
	}
	return p
}

// kill ends it at once, if it has not ended itself.
func (p *played) kill() {
	_ = p.cmd.Process.Kill()
	<-p.dead
	_ = p.stdin.Close()
}

// call makes one request; ok is false where no answer came.
func (p *played) call(method, path, body string) (answer gjson.Result, raw []byte, ok bool) {
	req, err := http.NewRequest(method, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer, nil, false
	}
	defer resp.Body.Close()
	raw, err = io.ReadAll(resp.Body)
	return gjson.ParseBytes(raw), raw, err == nil
}

// A gateway that is killed at any step of a batch's life leaves it to the next:
// nothing is lost, nothing is bought twice.
func TestKillAtEachStep(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, at := range []string{stepSpooled, stepKept, stepBegun, stepCarried, stepWritten, stepEnded, "in flight"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			killedAt(t, at)
		})
	}
}

const killRows = 60

func killedAt(t *testing.T, at string) {
	server, err := emulator.New(emulator.Options{Speed: killSpeed, Start: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(l) }()
	defer server.Close()
	base, dir := "http://"+l.Addr().String(), t.TempDir()

	p := play(t, dir, base, at)
	created, _, heard := p.call("POST", batchesPath, prompts("x", killRows))
	if at == "in flight" {
		waitFor(t, func() bool { return madeAny(t, base) })
		p.kill()
	} else if err := <-p.dead; err == nil || p.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("it did not die at its step: %v", err)
	}

	p = play(t, dir, base, "")
	defer p.kill()
	list, raw, _ := p.call("GET", batchesPath, "")
	if at == stepSpooled { // nobody has heard of it, and nothing is left of it
		entries, err := os.ReadDir(filepath.Join(dir, "batches"))
		if heard || list.Get("data.#").Int() != 0 || err != nil || len(entries) != 0 {
			t.Errorf("there is %s, files %v, %v", raw, entries, err)
		}
		return
	}
	id := list.Get("data.0.id").Str
	if list.Get("data.#").Int() != 1 || heard && created.Get("id").Str != id {
		t.Fatalf("there is %s", raw)
	}
	waitFor(t, func() bool {
		b, _, _ := p.call("GET", batchesPath+"/"+id, "")
		return b.Get("processing_status").Str == "ended"
	})
	_, raw, _ = p.call("GET", batchesPath+"/"+id+"/results", "")
	got := map[string]bool{}
	for line := range strings.Lines(string(raw)) {
		if !json.Valid([]byte(line)) || gjson.Get(line, "result.type").Str != "succeeded" {
			t.Errorf("a line %s", line)
		}
		got[gjson.Get(line, "custom_id").Str] = true
	}
	if n := strings.Count(string(raw), "\n"); len(got) != killRows || n != killRows {
		t.Errorf("%d results in %d lines", len(got), n)
	}
	rows := int64(0)
	statsOf(t, base).Get("orgs").ForEach(func(_, org gjson.Result) bool {
		rows += org.Get("batches.succeeded").Int()
		return true
	})
	if rows != killRows {
		t.Errorf("%d rows are billed", rows)
	}
}

func statsOf(t testing.TB, base string) gjson.Result {
	resp, err := http.Get(base + "/emulator/stats")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return gjson.ParseBytes(raw)
}

// madeAny says that a batch is at the provider.
func madeAny(t testing.TB, base string) (made bool) {
	statsOf(t, base).Get("orgs").ForEach(func(_, org gjson.Result) bool {
		made = org.Get("batches.created").Int() > 0
		return !made
	})
	return made
}

// waitFor asks until something is so.
func waitFor(t testing.TB, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not come to that")
		}
	}
}

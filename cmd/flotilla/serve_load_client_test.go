//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// loadPeer is a process under load, or one that makes it possible.
type loadPeer struct {
	name, url string
	pid       int
}

var listening = regexp.MustCompile(`listening on (http://[0-9.:]+)`)

// startPeer runs a command until the benchmark ends and waits for its address.
func startPeer(b *testing.B, name string, environ []string, command string, args ...string) *loadPeer {
	b.Helper()
	cmd := exec.Command(command, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + b.TempDir()}, environ...)
	cmd.Dir = b.TempDir()
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() {
					if strings.Contains(lines.Text(), "error") {
						b.Log(name, lines.Text())
					}
				}
			}()
			return &loadPeer{name: name, url: m[1], pid: cmd.Process.Pid}
		}
		b.Log(name, lines.Text())
	}
	b.Fatalf("%s said no address", name)
	return nil
}

// startGateway runs the real program before an upstream, with its journal on
// disk, at caps that no load of ours reaches.
func startGateway(b *testing.B, upstream string) *loadPeer {
	b.Helper()
	environ := []string{"ANTHROPIC_API_KEY=sk-ant-load", "FLOTILLA_JOURNAL=" + filepath.Join(b.TempDir(), "journal.db")}
	return startPeer(b, "gateway", environ, "flotilla",
		"serve", "--listen", "127.0.0.1:0", "--base-url", upstream, "--conc", "haiku=2000", "--ramp", "fast")
}

// cpu is the processor time of the process so far; it is told in hundredths of a
// second.
func (p *loadPeer) cpu(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// peakMB is the most memory that the process had.
func (p *loadPeer) peakMB(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	kb, _ := strconv.Atoi(strings.Fields(rest)[0])
	return float64(kb) / 1024
}

// load is what one round of requests gave.
type load struct {
	took    []time.Duration // sorted: to the end of the answer, or to the first event
	elapsed time.Duration
	cpu     time.Duration // of the process under load
}

func (l *load) perSecond() float64 { return float64(len(l.took)) / l.elapsed.Seconds() }

func (l *load) cpuMicros() float64 { return float64(l.cpu.Microseconds()) / float64(len(l.took)) }

func (l *load) quantile(q float64) float64 {
	return float64(l.took[min(int(q*float64(len(l.took))), len(l.took)-1)].Microseconds()) / 1000
}

// loader sends requests to a peer.
type loader struct {
	b      *testing.B
	client *http.Client
	body   []byte
}

func newLoader(b *testing.B, body []byte) *loader {
	t := &http.Transport{MaxIdleConnsPerHost: 4096, DisableCompression: true}
	b.Cleanup(t.CloseIdleConnections)
	return &loader{b: b, client: &http.Client{Transport: t}, body: body}
}

// send makes one request; first is when the first byte of the body came.
func (l *loader) send(url string) (first, whole time.Duration, err error) {
	begin := time.Now()
	req, err := http.NewRequest(http.MethodPost, url+"/v1/messages", bytes.NewReader(l.body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("x-api-key", "sk-ant-load")
	req.Header.Set("anthropic-version", "2023-06-01")
	req.Header.Set("content-type", "application/json")
	resp, err := l.client.Do(req)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		return 0, 0, fmt.Errorf("%s: %s", resp.Status, text)
	}
	var one [1]byte
	if _, err := io.ReadFull(resp.Body, one[:]); err != nil {
		return 0, 0, err
	}
	first = time.Since(begin)
	_, err = io.Copy(io.Discard, resp.Body)
	return first, time.Since(begin), err
}

// closed keeps workers busy until n requests were made.
func (l *loader) closed(p *loadPeer, workers, n int) load {
	l.b.Helper()
	took := make([]time.Duration, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	cpu, begin := p.cpu(l.b), time.Now()
	for range workers {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				_, whole, err := l.send(p.url)
				if err != nil {
					l.b.Error(p.name, err)
					return
				}
				took[i] = whole
			}
		})
	}
	wg.Wait()
	return l.loadOf(took, time.Since(begin), p.cpu(l.b)-cpu)
}

// paced begins n requests, so many a second, whatever becomes of them.
func (l *loader) paced(p *loadPeer, perSecond float64, n int) load {
	l.b.Helper()
	took := make([]time.Duration, n)
	var wg sync.WaitGroup
	cpu, begin := p.cpu(l.b), time.Now()
	for i := range n {
		due := begin.Add(time.Duration(float64(i) / perSecond * float64(time.Second)))
		time.Sleep(time.Until(due))
		wg.Go(func() {
			_, whole, err := l.send(p.url)
			if err != nil {
				l.b.Error(p.name, err)
			}
			took[i] = whole
		})
	}
	wg.Wait()
	return l.loadOf(took, time.Since(begin), p.cpu(l.b)-cpu)
}

// firsts opens n streams within a second, all open at once, and tells when the
// first event of each came.
func (l *loader) firsts(p *loadPeer, n int) load {
	l.b.Helper()
	took := make([]time.Duration, n)
	var wg sync.WaitGroup
	cpu, begin := p.cpu(l.b), time.Now()
	for i := range n {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * 400 * time.Millisecond / time.Duration(n))))
		wg.Go(func() {
			first, _, err := l.send(p.url)
			if err != nil {
				l.b.Error(p.name, err)
			}
			took[i] = first
		})
	}
	wg.Wait()
	return l.loadOf(took, time.Since(begin), p.cpu(l.b)-cpu)
}

func (l *loader) loadOf(took []time.Duration, elapsed, cpu time.Duration) load {
	slices.Sort(took)
	return load{took: took, elapsed: elapsed, cpu: cpu}
}

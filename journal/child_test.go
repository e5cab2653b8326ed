package journal_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/journal/journaltest"
)

// The test binary is its own second process: with childEnv set it does what a
// child is to do instead of running tests.
const childEnv = "JOURNAL_TEST_CHILD"

func TestMain(m *testing.M) {
	if what := os.Getenv(childEnv); what != "" {
		os.Exit(child(what, os.Getenv("JOURNAL_TEST_PATH")))
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

// child says on standard output what it has done; it lives until its standard
// input ends.
func child(what, path string) int {
	ctx := context.Background()
	if what == "unprivileged" {
		return unprivileged(ctx, path)
	}
	j, err := journal.Open(ctx, path, journal.Options{})
	if err != nil {
		fmt.Println("open:", err)
		return 1
	}
	switch what {
	case "hold":
		err = hold(ctx, j)
	case "lease":
		err = lease(ctx, j)
	case "write":
		err = write(ctx, j)
	case "serve":
		err = serve(ctx, j)
	case "batches":
		err = sendBatches(ctx, j)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// hold begins the job "a", sends two rows of it, settles one, and waits.
func hold(ctx context.Context, j *journal.Journal) error {
	job, err := j.Begin(ctx, journaltest.Spec("a", 3))
	if err != nil {
		return err
	}
	if _, err := j.Grant(ctx, job.ID, journaltest.Noon, 800, 1000); err != nil {
		return err
	}
	err = j.Append([]flotilla.Record{
		journaltest.Intent(job.ID, 0, 1, 500), journaltest.Intent(job.ID, 1, 2, 300),
		journaltest.Settled(job.ID, 0, 1, "succeeded", 200),
	})
	if err != nil {
		return err
	}
	fmt.Println("held")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// lease does what it is told line by line: "want 60" or "keep 50".
func lease(ctx context.Context, j *journal.Journal) error {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		verb, arg, _ := strings.Cut(in.Text(), " ")
		n, err := strconv.Atoi(arg)
		if err != nil {
			return err
		}
		if verb == "keep" {
			if err := j.Release(ctx, "high/sonnet", n); err != nil {
				return err
			}
			fmt.Println("kept")
			continue
		}
		s, err := j.Lease(ctx, "high/sonnet", 100, n, time.Hour)
		if err != nil {
			return err
		}
		fmt.Println(s.Held, s.Target, s.Peers)
	}
	return j.Close()
}

// serve draws calls on blocks of money as fast as it can, each block for ten
// calls of 50 at most that cost 7, and says after each commit what it has
// charged so far.
func serve(ctx context.Context, j *journal.Journal) error {
	spec := journaltest.Spec("calls", 0)
	spec.Kind = journal.KindServe
	job, err := j.Begin(ctx, spec)
	if err != nil {
		return err
	}
	row, err := job.NextRow(ctx)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		block := time.Now().UnixNano()
		records := []flotilla.Record{journaltest.Reserved(job.ID, block, 500)}
		for range 10 {
			if err := j.Append(append(records, journaltest.Drawn(job.ID, block, row, 50, 7))); err != nil {
				return err
			}
			row, records = row+1, nil
			fmt.Println(row)
		}
		if err := j.Append([]flotilla.Record{journaltest.Freed(job.ID, block)}); err != nil {
			return err
		}
	}
}

// write commits rows of the job "kill" as fast as it can and says after each
// commit how many are settled: groups of 1 to 50, each with an intent more than
// it settles.
func write(ctx context.Context, j *journal.Journal) error {
	job, err := j.Begin(ctx, journaltest.Spec("kill", 1<<20))
	if err != nil {
		return err
	}
	st, err := job.State(ctx)
	if err != nil {
		return err
	}
	row := 0
	for st.Outcome(row) == journal.Succeeded {
		row++
	}
	attempt := int64(1)
	for group := 1; ; group = group%50 + 1 {
		var records []flotilla.Record
		for range group {
			records = append(records, journaltest.Intent(job.ID, row, attempt, 500), journaltest.Settled(job.ID, row, attempt, "succeeded", 100))
			row++
			attempt++
		}
		records = append(records, journaltest.Intent(job.ID, row, attempt, 500))
		attempt++
		if err := j.Append(records); err != nil {
			return err
		}
		fmt.Println(row)
	}
}

// process is a child at work.
type process struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t testing.TB, what, path string) *process {
	t.Helper()
	p := &process{t: t, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), childEnv+"="+what, "JOURNAL_TEST_PATH="+path)
	p.cmd.Stderr = os.Stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}

func (p *process) line() string {
	p.t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the child said %q and then: %v", line, err)
	}
	return strings.TrimSpace(line)
}

func (p *process) say(format string, args ...any) string {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		rest, _ := io.ReadAll(p.out)
		p.t.Fatalf("%v; the child said %q", err, rest)
	}
	return p.line()
}

// kill is kill -9; what the child said until then is read to its end.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	_, _ = io.Copy(io.Discard, p.out)
	_ = p.cmd.Wait()
}

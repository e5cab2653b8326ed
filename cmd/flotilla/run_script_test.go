package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/journal"
)

// TestRunScripts and its like run the program against emulators of
// their own. Their scripts have these commands besides testscript's:
//
//	emulate SCENARIO SPEED      begins an emulator at $API
//	fault JSON                  adds a fault to it
//	served NAME=N…              compares figures of its stats: requests, succeeded
//	exits CODE COMMAND…         runs a command and compares its exit code
//	rows FILE N                 writes N rows with id and question
//	results FILE N [TYPE]       counts the lines of an OUT, each id once (of one result.type)
//	jobid N                     sets $JOB to the id of the N-th job of the journal, newest first
//	await FILE                  waits until a file has content
//	leftover PATTERN            sees that a directory holds one such file and nothing else
//	sql FILE STATEMENT          changes a journal
//	edit FILE OLD NEW           replaces text in a file
func TestRunScripts(t *testing.T)  { runScripts(t, "testdata/run") }
func TestJobsScripts(t *testing.T) { runScripts(t, "testdata/jobs") }

// TestMeasureAllScript takes as long as all experiments do, and is asked for by
// scripts/test.
func TestMeasureAllScript(t *testing.T) {
	if os.Getenv("FLOTILLA_MEASURE_ALL") == "" {
		t.Skip("measures for some minutes: FLOTILLA_MEASURE_ALL=1 asks for it")
	}
	runScripts(t, "testdata/measure_all")
}

func TestMeasureScripts(t *testing.T) { runScripts(t, "testdata/measure") }
func TestDemoScripts(t *testing.T)    { runScripts(t, "testdata/demo") }

func runScripts(t *testing.T, dir string) { runScriptsWith(t, dir, nil) }

// runScriptsWith runs scripts that have further commands.
func runScriptsWith(t *testing.T, dir string, more map[string]func(*testscript.TestScript, bool, []string)) {
	t.Parallel()
	cmds := map[string]func(*testscript.TestScript, bool, []string){
		"emulate": scriptEmulate, "fault": scriptFault, "served": scriptServed, "exits": scriptExits,
		"rows": scriptRows, "results": scriptResults, "edit": scriptEdit,
		"jobid": scriptJobID, "await": scriptAwait, "leftover": scriptLeftover, "sql": scriptSQL,
	}
	maps.Copy(cmds, more)
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("ANTHROPIC_API_KEY", emulator.Key("high"))
			env.Setenv("ANTHROPIC_BATCH_KEY", emulator.Key("batch"))
			env.Setenv("ANTHROPIC_API_KEY_LOW_PRIO", emulator.Key("low"))
			env.Values[gatewayKey] = new(*exec.Cmd)
			return nil
		},
		Cmds: cmds,
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil // may read what nobody may
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
	})
}

func scriptEmulate(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: emulate SCENARIO SPEED")
	}
	sc, err := emulator.Named(args[0])
	ts.Check(err)
	speed, err := strconv.ParseFloat(args[1], 64)
	ts.Check(err)
	s, err := emulator.New(emulator.Options{Scenario: sc, Seed: 1, Speed: speed})
	ts.Check(err)
	url, err := s.Listen("127.0.0.1:0")
	ts.Check(err)
	ts.Defer(func() { _ = s.Close() })
	ts.Setenv("API", url)
	ts.Setenv("ANTHROPIC_BASE_URL", url)
}

func scriptFault(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(postJSON(ts.Getenv("API")+"/emulator/faults", strings.Join(args, " ")))
}

func scriptServed(ts *testscript.TestScript, neg bool, args []string) {
	all, err := statsOf(ts.Getenv("API"))
	ts.Check(err)
	for _, a := range args {
		name, want, _ := strings.Cut(a, "=")
		if got := fmt.Sprint(all[name]); (got == want) == neg {
			ts.Fatalf("%s is %s, want %s", name, got, want)
		}
	}
}

func scriptExits(ts *testscript.TestScript, _ bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND…")
	}
	code := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

func scriptRows(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(writeDemoRows(f, n, 1))
	ts.Check(f.Close())
}

func scriptResults(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[1])
	ts.Check(err)
	kind := ""
	if len(args) > 2 {
		kind = args[2]
	}
	lines, err := readResults(ts.MkAbs(args[0]))
	ts.Check(err)
	n, seen := 0, map[string]bool{}
	for _, l := range lines {
		if seen[l.ID] {
			ts.Fatalf("%s stands twice", l.ID)
		}
		seen[l.ID] = true
		if kind == "" || l.Result.Type == kind {
			n++
		}
	}
	if (n == want) == neg {
		ts.Fatalf("%d lines, want %d", n, want)
	}
}

func scriptEdit(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	text, err := os.ReadFile(path)
	ts.Check(err)
	if !strings.Contains(string(text), args[1]) {
		ts.Fatalf("%s does not contain %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(path, []byte(strings.ReplaceAll(string(text), args[1], args[2])), 0o600))
}

func scriptJobID(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	j, err := journal.Open(context.Background(), ts.MkAbs(".flotilla/journal.db"), journal.Options{})
	ts.Check(err)
	defer j.Close()
	jobs, err := j.Jobs(context.Background(), time.Time{})
	ts.Check(err)
	if n >= len(jobs) {
		ts.Fatalf("the journal has %d jobs", len(jobs))
	}
	ts.Setenv("JOB", jobs[n].Key)
}

func scriptAwait(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	for range 3000 {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return
		}
		time.Sleep(10 * time.Millisecond) // another process is waited for
	}
	ts.Fatalf("%s has no content", args[0])
}

func scriptLeftover(ts *testscript.TestScript, _ bool, args []string) {
	entries, err := os.ReadDir(ts.MkAbs(filepath.Dir(args[0])))
	ts.Check(err)
	if len(entries) != 1 {
		ts.Fatalf("%d files, want 1: %v", len(entries), entries)
	}
	if ok, err := filepath.Match(filepath.Base(args[0]), entries[0].Name()); !ok || err != nil {
		ts.Fatalf("%s does not match %s", entries[0].Name(), args[0])
	}
}

func scriptSQL(ts *testscript.TestScript, _ bool, args []string) {
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	_, err = db.Exec(args[1])
	ts.Check(errors.Join(err, db.Close()))
}

// resultLine is what tests read of a line of OUT.
type resultLine struct {
	ID     string `json:"custom_id"`
	Result struct {
		Type    string
		Message struct {
			Content []struct{ Text string }
			Usage   struct {
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
			}
		}
		Error struct {
			Error struct{ Type, Message string }
		}
	}
	Flotilla struct {
		Org      string
		Tier     string
		Attempts int
		Cost     json.Number `json:"cost_usd"`
		Cached   bool
		Body     string
		Retried  string
	}
}

// readResults reads an OUT strictly: whole lines of valid JSON and nothing else.
func readResults(path string) ([]resultLine, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []resultLine
	r := bufio.NewReaderSize(f, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) == 0 {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: line %d is torn", path, len(out)+1)
		}
		var l resultLine
		if err := json.Unmarshal(line, &l); err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, len(out)+1, err)
		}
		out = append(out, l)
	}
}

package job

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
)

func TestForeignOutIsLeftAlone(t *testing.T) {
	for name, content := range map[string]string{
		"text":               "my notes\n",
		"text without break": "my notes",
		"another job's row":  `{"custom_id":"x","result":{"type":"succeeded"},"flotilla":{"body":"0123456789abcdef"}}` + "\n",
		"a row not answered": `{"custom_id":"r/0","result":{"type":"succeeded"},"flotilla":{"body":"0123456789abcdef"}}` + "\n",
		"JSON of others":     "{\"a\":1}\n",
	} {
		b := newBench(t)
		b.cfg.Inputs = []string{b.input("in.jsonl", 2)}
		path := b.file("out.jsonl", content)
		f := b.fleet()
		e := b.run(f)
		if e.code != ExitError || len(f.sent) > 0 || !strings.Contains(fmt.Sprint(e.err), "is not of this job") || !strings.Contains(HintOf(e.err), "--overwrite") {
			t.Errorf("%s: %v, exit %d", name, e.err, e.code)
		}
		if got, _ := os.ReadFile(path); string(got) != content {
			t.Errorf("%s: the file was changed", name)
		}
		b.cfg.Output.Overwrite = true
		if e := b.run(b.fleet()); e.err != nil || e.code != ExitOK {
			t.Errorf("%s: %v", name, e.err)
		}
		b.whole(2)
		aside, _ := filepath.Glob(path + ".2*")
		if len(aside) != 1 {
			t.Fatalf("%s: set aside: %v", name, aside)
		}
		if got, _ := os.ReadFile(aside[0]); string(got) != content {
			t.Errorf("%s: set aside with other content", name)
		}
	}
}

func TestOutIsNeverAnInput(t *testing.T) {
	b := newBench(t)
	in := b.input("in.jsonl", 2)
	link, hard := filepath.Join(b.dir, "link.jsonl"), filepath.Join(b.dir, "hard.jsonl")
	if err := os.Symlink(in, link); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(in, hard); err != nil {
		t.Fatal(err)
	}
	b.cfg.Inputs = []string{in}
	for _, out := range []string{in, link, hard, b.dir + "/./in.jsonl"} {
		b.cfg.Output.Path = out
		if e := b.run(b.fleet()); e.code != ExitError || !strings.Contains(fmt.Sprint(e.err), "is the input") {
			t.Errorf("%s: %v", out, e.err)
		}
	}
	if text, _ := os.ReadFile(in); strings.Count(string(text), "\n") != 2 {
		t.Errorf("the input was changed: %s", text)
	}
}

func TestFullDevice(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	b := newBench(t)
	b.cfg.Inputs = []string{b.input("in.jsonl", 2)}
	b.cfg.Output.Path = "/dev/full"
	f := b.fleet()
	e := b.run(f)
	if e.code != ExitError || len(f.sent) > 0 || !strings.Contains(fmt.Sprint(e.err), "no space left") || HintOf(e.err) == "" {
		t.Errorf("%v, exit %d, sent %v", e.err, e.code, f.sent)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	b.cfg.Output = Output{Stdout: full}
	e = b.run(b.fleet())
	if e.code != ExitError || strings.Count(e.err.Error(), "no space left") != 1 || e.Succeeded == 0 {
		t.Errorf("%v, exit %d, %d succeeded", e.err, e.code, e.Succeeded)
	}
	var out bytes.Buffer // nothing is lost
	b.cfg.Output = Output{Stdout: &out}
	if e := b.run(b.fleet()); e.err != nil || len(b.linesOf(out.Bytes())) != 2 {
		t.Errorf("%v, %s", e.err, out.Bytes())
	}
}

func TestStandardOutput(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		b := newBench(t)
		var out bytes.Buffer
		b.cfg.Output = Output{Stdout: &out, ByInput: ordered}
		b.cfg.Inputs = []string{b.input("in.jsonl", 40)}
		f := b.fleet()
		f.halt = 15
		if e := b.run(f); e.code != ExitInterrupted || len(b.linesOf(out.Bytes())) != 15 {
			t.Fatalf("exit %d, %d lines, %v", e.code, len(b.linesOf(out.Bytes())), e.err)
		}
		out.Reset()
		f = b.fleet()
		if e := b.run(f); e.code != ExitOK || len(f.sent) != 25 || len(b.linesOf(out.Bytes())) != 40 {
			t.Errorf("exit %d, %d sent, %d lines", e.code, len(f.sent), len(b.linesOf(out.Bytes())))
		}
		if !ordered {
			continue
		}
		for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			if id := gjson.Get(line, "custom_id").Str; id != fmt.Sprintf("r/%d", i) {
				t.Fatalf("line %d is of %s", i, id)
			}
		}
	}
}

func TestTerminalIsNotFlooded(t *testing.T) {
	b := newBench(t)
	b.cfg.Output = Output{Stdout: io.Discard, Terminal: true}
	b.cfg.Inputs = []string{b.input("in.jsonl", 101)}
	if e := b.run(b.fleet()); e.code != ExitError || HintOf(e.err) == "" {
		t.Errorf("%v", e.err)
	}
	b.cfg.Limit = 100
	if e := b.run(b.fleet()); e.code != ExitOK || e.N != 100 {
		t.Errorf("%v", e.err)
	}
}

func TestTables(t *testing.T) {
	for _, ext := range []string{".csv", ".parquet"} {
		b := newBench(t)
		in := b.file("in.jsonl", `{"id":"a","q":"one","n":1,"model":"mine","list":[1, 2],"ok":true}
{"id":"b","q":"two","n":2.5,"model":"mine","list":null,"ok":false}
{"id":"c","q":"three","n":3,"model":"mine","extra":"x"}
`)
		b.cfg.Inputs = []string{in}
		b.cfg.Output = Output{Path: filepath.Join(b.dir, "out"+ext), ByInput: true}
		f := b.fleet()
		f.answer = func(call int, body []byte) flotilla.Result {
			if call == 1 {
				return refusal(400, "invalid_request_error", "no")
			}
			return echo(call, body)
		}
		f.halt = 2
		if e := b.run(f); e.code != ExitInterrupted {
			t.Fatalf("%s: exit %d, %v", ext, e.code, e.err)
		}
		if rows := tableOf(t, b.cfg.Output.Path); len(rows) != 3 {
			t.Errorf("%s: %d rows after an interrupt", ext, len(rows)-1)
		}
		f = b.fleet()
		f.answer = func(call int, body []byte) flotilla.Result {
			if call == 1 {
				return refusal(400, "invalid_request_error", "no")
			}
			return echo(call, body)
		}
		if e := b.run(f); e.code != ExitRows || e.err != nil {
			t.Fatalf("%s: exit %d, %v", ext, e.code, e.err)
		}
		rows := tableOf(t, b.cfg.Output.Path)
		want := []string{"id", "q", "n", "input.model", "list", "ok", "extra", "custom_id", "completion", "stop_reason", "status", "error", "model", "org", "tier", "input_tokens", "output_tokens", "cost_usd", "latency_ms", "repeat"}
		if diff := cmp.Diff(want, rows[0]); diff != "" {
			t.Errorf("%s: %s", ext, diff)
		}
		if len(rows) != 4 {
			t.Fatalf("%s: %d rows", ext, len(rows)-1)
		}
		got := map[string][]string{}
		for _, r := range rows[1:] {
			got[r[0]] = r
		}
		a := []string{"a", "one", "1", "mine", "[1,2]", "true", "", "a", "one", "end_turn", "succeeded", "", "claude-haiku-4-5", "high", "sync", "10", "5", "0.001230000", "812", "0"}
		if ext == ".parquet" {
			a[17] = "0.00123"
		}
		if diff := cmp.Diff(a, got["a"]); diff != "" {
			t.Errorf("%s: %s", ext, diff)
		}
		if r := got["b"]; r[2] != "2.5" || r[8] != "" || r[10] != "errored" || r[11] != "invalid_request_error: no" {
			t.Errorf("%s: %q", ext, r)
		}
		// A finished table is left as it is.
		before, _ := os.Stat(b.cfg.Output.Path)
		f = b.fleet()
		if e := b.run(f); e.code != ExitRows || len(f.sent) > 0 {
			t.Errorf("%s: exit %d, sent %v, %v", ext, e.code, f.sent, e.err)
		}
		if after, _ := os.Stat(b.cfg.Output.Path); !os.SameFile(before, after) {
			t.Errorf("%s: the table was written again", ext)
		}
		// It is an input for the next job.
		b.cfg.Inputs = []string{b.cfg.Output.Path}
		b.cfg.Output = Output{Path: filepath.Join(b.dir, "next.jsonl")}
		b.cfg.Shape.Prompt = "{{.custom_id}} said {{.status}}"
		if e := b.run(b.fleet()); e.code != ExitOK || len(b.lines()) != 3 || b.lines()["c"].Get("result.message.content.0.text").Str != "c said succeeded" {
			t.Errorf("%s: as input: %v %v", ext, e.err, b.lines())
		}
	}
}

// tableOf reads a table back, by another way than it was written.
func tableOf(t *testing.T, path string) [][]string {
	t.Helper()
	if strings.HasSuffix(path, ".csv") {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		rows, err := csv.NewReader(f).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	text, err := spooled(t, path, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out [][]string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		r := recordOf(t, line)
		if out == nil {
			out = append(out, r.keys())
		}
		var cells []string
		for _, f := range r.fields {
			cells = append(cells, cellTextOf(f.val))
		}
		out = append(out, cells)
	}
	return out
}

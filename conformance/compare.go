package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"
)

// outcome is what a suite says of one check.
type outcome struct {
	Check  string          `json:"check"`
	OK     bool            `json:"ok"`
	Result json.RawMessage `json:"result"`
	Error  string          `json:"error"`
	Trace  string          `json:"trace"`
	MS     int64           `json:"ms"`
}

// least is how many checks each suite has at least.
const least = 40

// compareSuites runs every suite against both targets, fresh ones for each, so
// that answers, which follow from what was asked before, are the same.
func (r *run) compareSuites(ctx context.Context) error {
	suites, missing, err := r.install(ctx)
	if err != nil {
		return err
	}
	errs := make([]error, len(suites))
	var wg sync.WaitGroup
	for i, s := range suites { // each waits for batches most of the time
		wg.Go(func() {
			if err := r.compareSuite(ctx, s); err != nil {
				errs[i] = fmt.Errorf("%s: %w", s.name, err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return missing
}

func (r *run) compareSuite(ctx context.Context, s suite) error {
	start := time.Now()
	makers := []func(context.Context) (*target, error){r.direct, r.gateway}
	if s.name == "go" && !r.standIn {
		makers = append(makers, r.transport)
	}
	got, errs := make([][]outcome, len(makers)), make([]error, len(makers))
	var wg sync.WaitGroup
	for i, f := range makers {
		wg.Go(func() { got[i], errs[i] = r.ask(ctx, s, f) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	faults := compare(got[0], got[1], "through the gateway")
	if len(got) > 2 {
		faults = append(faults, compare(ranIn(got[0], got[2]), got[2], "by fleet.Transport")...)
	}
	for _, list := range got { // a suite that skips much says nothing
		if n := len(list); r.only == "" && n < least {
			faults = append(faults, fmt.Sprintf("%d checks are fewer than %d", n, least))
		}
	}
	also := ""
	if len(got) > 2 {
		also = fmt.Sprintf(", %d by fleet.Transport", good(got[2]))
	}
	fmt.Printf("%-10s  %d checks direct, %d through the gateway%s; %d faults (%.0f s)\n", s.name, good(got[0]), good(got[1]), also, len(faults), time.Since(start).Seconds())
	if len(faults) > 0 {
		return errors.New(strings.Join(faults, "\n"))
	}
	return nil
}

// ask runs a suite against a target that is made for it.
func (r *run) ask(ctx context.Context, s suite, to func(context.Context) (*target, error)) (got []outcome, err error) {
	t, err := to(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	args := s.args[1:]
	if r.only != "" {
		args = append(slices.Clone(args), r.only)
	}
	cmd := exec.CommandContext(ctx, s.args[0], args...)
	cmd.Dir = s.dir
	cmd.Env = append(slices.Concat(plainEnv(), s.env, t.env), "CONFORMANCE_URL="+t.url, "CONFORMANCE_KEY="+t.key, "CONFORMANCE_EMULATOR="+t.emulator)
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	ran := cmd.Run()
	got, err = readOutcomes(out.Bytes())
	if err != nil || len(got) == 0 {
		return nil, fmt.Errorf("%s: %w\n%s", t.name, errors.Join(err, ran, errors.New("it told of no check")), complaints.Bytes())
	}
	if file := os.Getenv("CONFORMANCE_KEEP"); file != "" {
		return got, os.WriteFile(file+"-"+s.name+"-"+t.name+".jsonl", out.Bytes(), 0o600)
	}
	return got, nil
}

func readOutcomes(text []byte) (out []outcome, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var o outcome
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			return nil, fmt.Errorf("%q: %w", lines.Text(), err)
		}
		out = append(out, o)
	}
	return out, lines.Err()
}

func good(list []outcome) (n int) {
	for _, o := range list {
		if o.OK {
			n++
		}
	}
	return n
}

// ranIn are those of some outcomes whose checks others have too.
func ranIn(list, others []outcome) (out []outcome) {
	for _, o := range list {
		if slices.ContainsFunc(others, func(p outcome) bool { return p.Check == o.Check }) {
			out = append(out, o)
		}
	}
	return out
}

// compare says which checks fail, are missing, or see something else than
// direct ones.
func compare(direct, other []outcome, how string) (faults []string) {
	by := map[string]outcome{}
	for _, o := range other {
		by[o.Check] = o
	}
	for _, d := range direct {
		g, ok := by[d.Check]
		delete(by, d.Check)
		switch {
		case !d.OK:
			faults = append(faults, fmt.Sprintf("%s fails direct: %s\n%s", d.Check, d.Error, d.Trace))
		case !ok:
			faults = append(faults, d.Check+" was not run "+how)
		case !g.OK:
			faults = append(faults, fmt.Sprintf("%s fails %s: %s\n%s", d.Check, how, g.Error, g.Trace))
		default:
			if at, one, another := difference("", value(d.Result), value(g.Result)); at != "" {
				faults = append(faults, fmt.Sprintf("%s: at %s the emulator gives %s; %s it is %s", d.Check, at, one, how, another))
			}
		}
	}
	for name := range by {
		faults = append(faults, name+" was not run direct")
	}
	return faults
}

// value is a result as it is compared: numbers by their digits, members in any
// order.
func value(b json.RawMessage) (v any) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if len(b) > 0 {
		_ = d.Decode(&v) // it is a part of a line that was decoded
	}
	return v
}

// difference finds the first place where two values differ, and what is there;
// the empty place: nowhere.
func difference(at string, a, b any) (place, one, other string) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return differentMember(at, x, y)
		}
	case []any:
		if y, ok := b.([]any); ok && len(x) == len(y) {
			for i := range x {
				if place, one, other = difference(fmt.Sprintf("%s[%d]", at, i), x[i], y[i]); place != "" {
					return place, one, other
				}
			}
			return "", "", ""
		}
	default:
		if a == b {
			return "", "", ""
		}
	}
	return at + ".", brief(a), brief(b)
}

func differentMember(at string, x, y map[string]any) (place, one, other string) {
	names := slices.AppendSeq(slices.Collect(maps.Keys(x)), maps.Keys(y))
	slices.Sort(names)
	for _, k := range slices.Compact(names) {
		_, has := x[k]
		_, hasToo := y[k]
		if has != hasToo {
			return at + "." + k, brief(x[k]), brief(y[k])
		}
		if place, one, other = difference(at+"."+k, x[k], y[k]); place != "" {
			return place, one, other
		}
	}
	return "", "", ""
}

func brief(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	if len(b) > 300 {
		return string(b[:300]) + "…"
	}
	return strings.TrimSpace(string(b))
}

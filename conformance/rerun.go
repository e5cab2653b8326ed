package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// What rerun.py does: of so many calls the first are answered before anything
// happens to it.
const (
	rerunCalls = 80
	rerunFirst = 25
)

// reruns kills a script under serve --cache in the middle, once the script and
// once serve, and runs it again: what was answered is not asked again.
func (r *run) reruns(ctx context.Context) error {
	py, err := r.python(ctx)
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name  string
		crash func(context.Context, *evaluation) error
	}{{"the script is killed", dies}, {"serve is killed", loses}} {
		if err := r.crashAndRerun(ctx, py, c.crash); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		fmt.Printf("serve --cache: %s, and the rest alone is paid for\n", c.name)
	}
	return nil
}

// evaluation is the script on its way.
type evaluation struct {
	r       *run
	py      suite
	t       *target
	dir     string
	answers string // file of what it was told
}

func (r *run) crashAndRerun(ctx context.Context, py suite, crash func(context.Context, *evaluation) error) (err error) {
	t, err := r.direct(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.stop()) }()
	dir, err := os.MkdirTemp(r.scratch, "rerun")
	if err != nil {
		return err
	}
	e := &evaluation{r: r, py: py, t: t, dir: dir, answers: filepath.Join(dir, "answers.json")}
	// Slow answers, so that some are under way whenever it happens.
	if err := slowly(ctx, t.emulator, func() error { return crash(ctx, e) }); err != nil {
		return err
	}
	before, err := e.told()
	if err != nil {
		return err
	}
	return e.again(ctx, before)
}

// again runs the script twice more: to its end, and for nothing.
func (e *evaluation) again(ctx context.Context, before map[string][]string) error {
	n := 0
	for _, said := range before {
		n += len(said)
	}
	if n != rerunFirst {
		return fmt.Errorf("%d calls were answered before the crash, want %d", n, rerunFirst)
	}
	asked, err := e.whole(ctx)
	if err != nil {
		return err
	}
	if asked > rerunCalls-rerunFirst || asked == 0 {
		return fmt.Errorf("the second run asks %d times; %d of %d calls were answered", asked, rerunFirst, rerunCalls)
	}
	all, err := e.told()
	if err != nil {
		return err
	}
	for question, said := range before {
		if !slices.Equal(all[question], said) {
			return fmt.Errorf("%s is answered %q, and was %q", question, all[question], said)
		}
	}
	if asked, err = e.whole(ctx); err != nil || asked != 0 {
		return errors.Join(err, fmt.Errorf("the third run asks %d times", asked))
	}
	third, err := e.told()
	if err == nil && !maps.EqualFunc(all, third, slices.Equal) {
		err = errors.New("the third run is answered otherwise")
	}
	return err
}

// whole runs the script to its end, and gives how often the emulator was asked.
func (e *evaluation) whole(ctx context.Context) (int64, error) {
	before, err := requests(ctx, e.t.emulator)
	if err != nil {
		return 0, err
	}
	cmd, said := e.serve(ctx)
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("running it to its end: %w\n%s", err, said)
	}
	after, err := requests(ctx, e.t.emulator)
	return after - before, err
}

// serve is the script under serve, with what happens to it.
func (e *evaluation) serve(ctx context.Context, event ...string) (*exec.Cmd, *bytes.Buffer) {
	args := append([]string{
		"serve", "--max-spend", "1", "--cache", "--",
		e.py.args[0], "rerun.py", e.answers, strconv.Itoa(rerunCalls),
	}, event...)
	cmd := exec.CommandContext(ctx, e.r.binary, args...)
	cmd.Dir = e.py.dir
	cmd.Env = append(append(append(plainEnv(), orgs(e.t.emulator)...), e.py.env...), "FLOTILLA_JOURNAL="+filepath.Join(e.dir, "journal.db"))
	said := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	return cmd, said
}

// told reads what the script was answered.
func (e *evaluation) told() (answers map[string][]string, err error) {
	text, err := os.ReadFile(e.answers)
	if err == nil {
		err = json.Unmarshal(text, &answers)
	}
	return answers, err
}

// dies lets the script kill itself; serve ends with it, as it ended.
func dies(ctx context.Context, e *evaluation) error {
	cmd, said := e.serve(ctx, "die")
	err := cmd.Run()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGKILL) {
		return fmt.Errorf("serve ends with %w, want %d\n%s", err, 128+int(syscall.SIGKILL), said)
	}
	return nil
}

// loses kills serve under the script, and then the script, which nobody serves.
func loses(ctx context.Context, e *evaluation) error {
	halfway := filepath.Join(e.dir, "halfway")
	cmd, said := e.serve(ctx, "halfway", halfway)
	if err := cmd.Start(); err != nil {
		return err
	}
	pid, err := appears(ctx, halfway)
	if err != nil {
		return errors.Join(fmt.Errorf("the script does not get halfway: %w\n%s", err, said), cmd.Process.Kill(), cmd.Wait())
	}
	if err := cmd.Process.Kill(); err != nil {
		return err
	}
	script, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	_ = script.Kill() // it may have ended by itself
	_ = cmd.Wait()    // of the kill
	return nil
}

// appears waits for a file with a number in it.
func appears(ctx context.Context, file string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	for {
		text, err := os.ReadFile(file)
		if err == nil {
			return strconv.Atoi(string(text))
		}
		select {
		case <-ctx.Done():
			return 0, err
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// slowly runs a function while all answers of an emulator come late.
func slowly(ctx context.Context, emulator string, f func() error) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, emulator+"/emulator/faults", strings.NewReader(`{"kind":"delay","path":"/v1/messages","delay_ms":400}`))
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var made struct{ ID string }
	if err := json.NewDecoder(res.Body).Decode(&made); err != nil {
		return err
	}
	err = f()
	req, bad := http.NewRequestWithContext(ctx, http.MethodDelete, emulator+"/emulator/faults/"+made.ID, nil)
	if bad != nil {
		return errors.Join(err, bad)
	}
	gone, bad := http.DefaultClient.Do(req)
	if bad != nil {
		return errors.Join(err, bad)
	}
	return errors.Join(err, gone.Body.Close())
}

// requests is how often the emulator was asked for a message.
func requests(ctx context.Context, emulator string) (int64, error) {
	text, err := get(ctx, emulator+"/emulator/stats")
	if err != nil {
		return 0, err
	}
	var stats struct{ Requests int64 }
	err = json.Unmarshal(text, &stats)
	return stats.Requests, err
}

package dashboard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/jobbook"
	"github.com/flotilla-llm/flotilla/internal/judge"
	"github.com/flotilla-llm/flotilla/journal"
)

// court is a job of judges while its process has it. Its calls are settled by
// hand.
type court struct {
	*shop
	run   *job.Run
	panel *judge.Panel
	id    int64
	key   string
	calls int
	held  bool // the run's rows are to be read live
}

// echoRubric is a rubric of ours that judges a completion beside a question.
const echoRubric = `name: echo
version: "1"
model: claude-haiku-4-5
max_tokens: 40
system: You are a judge.
prompt: "The question: {{.question}} The answer: {{.completion}}"
verdict: {form: score, min: 0, max: 100}
`

func parsed(t testing.TB, text string) *judge.Rubric {
	t.Helper()
	r, err := judge.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// newCourt begins a job over a file of rows.
func newCourt(t testing.TB, input string, s judge.Settings, shape job.Shape) *court {
	t.Helper()
	c := &court{held: true}
	c.shop = newShop(t, func(cfg *Config) {
		cfg.Live = func(key string) (job.RowReader, bool) { return c.run.Rows(), c.held && key == c.key }
	})
	must := func(err error) {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
	}
	fleet, err := flotilla.New(flotilla.Config{Orgs: []flotilla.Org{{Name: "high", Key: flotilla.Key(emulator.Key("high"))}}, BaseURL: "http://127.0.0.1:1"})
	must(err)
	t.Cleanup(func() { _ = fleet.Close() })
	c.panel, err = judge.NewPanel(s)
	must(err)
	shape.IDFields, shape.Provider, shape.Version = []string{"id"}, "http://127.0.0.1:1", flotilla.DefaultVersion
	dir := t.TempDir()
	c.run, err = job.Open(context.Background(), fleet, job.Config{
		Inputs: []string{input}, Dir: dir, Kind: journal.KindJudge, Command: "flotilla judge rows.jsonl", Craft: c.panel, Shape: shape,
		Output: job.Output{Path: filepath.Join(dir, "out.jsonl")},
	})
	must(err)
	t.Cleanup(func() { _ = c.run.Close() })
	must(c.run.Begin(context.Background(), jobbook.Books{Journal: c.journal}))
	c.key = c.run.Plan().Job
	info, err := c.journal.Find(context.Background(), c.key)
	must(err)
	c.id, c.calls = info.ID, info.N
	return c
}

// courtRows are rows of three topics, each with a label of its own.
func courtRows(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rows.jsonl")
	var text []byte
	for i := range n {
		text = fmt.Appendf(text, `{"id":"r/%d","topic":"topic %d","question":"Question %d?","completion":"Answer %d, of course.","right":%t,"note":{"n":%d}}`+"\n", i, i%3, i, i, i%2 == 0, i)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// says settles a call by a judge's answer.
func (c *court) says(call int, answer, stop string) { c.append(c.record(call, answer, stop)) }

func (c *court) record(call int, answer, stop string) flotilla.Record {
	c.attempt++
	return flotilla.Record{
		Kind: flotilla.OutcomeRecord, Job: c.id, Row: call, Attempt: c.attempt, At: epoch, Org: "high", Pool: "haiku-4.5", Tier: "sync", Model: "claude-haiku-4-5",
		Type: "succeeded", Cost: 1_000_000, Charged: 1_000_000, Answer: message(answer, stop), Attempts: 1, Latency: time.Second, StopReason: stop,
	}
}

// ready asks for the page of the judges until it is of all that was said.
func (c *court) ready() judgeJSON {
	c.t.Helper()
	for range 200 {
		book := &c.dash.jobs.view(c.id, c.dash.cfg.Now()).book
		book.mu.Lock()
		book.sum.again = time.Time{} // a test does not wait for its turn
		book.mu.Unlock()
		if j := read[judgeJSON](c.shop, "jobs/"+c.key+"/judge"); j.Ready {
			return j
		}
	}
	c.t.Fatal("the verdicts were not summed up")
	return judgeJSON{}
}

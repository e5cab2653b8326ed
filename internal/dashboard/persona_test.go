package dashboard

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/job/sample"
	"github.com/flotilla-llm/flotilla/internal/jobbook"
)

// persona is a job over the 141,600 rows of the persona set, as it stands while
// its process has it. Its rows are settled by hand.
type persona struct {
	*shop
	run *job.Run
	id  int64
	key string
	n   int
	rng *rand.Rand
}

func newPersona(t testing.TB, change func(*Config)) *persona {
	t.Helper()
	p := &persona{rng: rand.New(rand.NewPCG(1, 2))}
	p.shop = newShop(t, func(c *Config) {
		if change != nil {
			change(c)
		}
		c.Live = func(key string) (job.RowReader, bool) { return p.run.Rows(), key == p.key }
	})
	fleet, err := flotilla.New(flotilla.Config{Orgs: []flotilla.Org{{Name: "high", Key: flotilla.Key(emulator.Key("high"))}}, BaseURL: "http://127.0.0.1:1"})
	p.must(err)
	t.Cleanup(func() { _ = fleet.Close() })
	maxTokens := 64
	dir := t.TempDir()
	p.run, err = job.Open(context.Background(), fleet, job.Config{
		Inputs: []string{sample.Path(t, sample.Persona)}, Dir: dir, Command: "flotilla run persona.jsonl", Output: job.Output{Path: filepath.Join(dir, "out.jsonl")},
		Shape: job.Shape{
			Model: "claude-haiku-4-5", MaxTokens: &maxTokens, IDFields: []string{"id"}, Provider: "http://127.0.0.1:1", Version: flotilla.DefaultVersion,
			Prompt: "Trait: {{.trait}}\nQuestion: {{.question}}\nAnswer: {{.completion}}\nStatement: {{.statement}}\nHow much does the answer show the trait, from 0 to 100?",
		},
	})
	p.must(err)
	t.Cleanup(func() { _ = p.run.Close() })
	p.must(p.run.Begin(context.Background(), jobbook.Books{Journal: p.journal}))
	p.key, p.n = p.run.Plan().Job, p.run.Plan().Rows
	info, err := p.journal.Find(context.Background(), p.key)
	p.must(err)
	p.id = info.ID
	return p
}

func (p *persona) must(err error) {
	if err != nil {
		p.t.Helper()
		p.t.Fatal(err)
	}
}

// personaWords are what its answers are made of.
var personaWords = strings.Fields("the answer shows this trait only in part because it agrees with what was said and gives reasons of its own which are plain honest human careful open Straße Größe while others might have judged it another way score seventy eighty ninety zero")

// answer settles rows with some 60 words each. The one in the middle has a word
// of its own.
func (p *persona) answer(from, to int) {
	var records []flotilla.Record
	for row := from; row < to; row++ {
		text := make([]string, 40+p.rng.IntN(40))
		for i := range text {
			text[i] = personaWords[p.rng.IntN(len(personaWords))]
		}
		if row == p.n/2 {
			text = append(text, "Needle-in-a-Haystack")
		}
		p.attempt++
		records = append(records, flotilla.Record{
			Kind: flotilla.OutcomeRecord, Job: p.id, Row: row, Attempt: p.attempt, At: epoch, Org: "high", Pool: "haiku-4.5", Tier: "sync", Model: "claude-haiku-4-5",
			Type: "succeeded", Cost: 1_000_000, Charged: 1_000_000, Answer: message(strings.Join(text, " "), "end_turn"), Attempts: 1, Latency: time.Second, StopReason: "end_turn",
		})
		if len(records) == 1000 || row == to-1 {
			p.append(records...)
			records = records[:0]
		}
	}
}

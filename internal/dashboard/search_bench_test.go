package dashboard

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/job/sample"
	"github.com/flotilla-llm/flotilla/internal/jobbook"
)

// persona is a settled job over the 141,600 rows of the persona set, as it
// stands while its process has it.
type persona struct {
	*shop
	run *job.Run
	key string
	n   int
}

func newPersona(t testing.TB) *persona {
	t.Helper()
	p := &persona{}
	p.shop = newShop(t, func(c *Config) {
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
	p.answer()
	return p
}

func (p *persona) must(err error) {
	if err != nil {
		p.t.Helper()
		p.t.Fatal(err)
	}
}

// answer settles every row with some 60 words.
func (p *persona) answer() {
	info, err := p.journal.Find(context.Background(), p.key)
	p.must(err)
	words := strings.Fields("the answer shows this trait only in part because it agrees with what was said and gives reasons of its own which are plain honest human careful open Straße Größe while others might have judged it another way score seventy eighty ninety zero")
	rng := rand.New(rand.NewPCG(1, 2))
	var records []flotilla.Record
	for row := range p.n {
		text := make([]string, 40+rng.IntN(40))
		for i := range text {
			text[i] = words[rng.IntN(len(words))]
		}
		if row == p.n/2 {
			text = append(text, "Needle-in-a-Haystack")
		}
		p.attempt++
		records = append(records, flotilla.Record{
			Kind: flotilla.OutcomeRecord, Job: info.ID, Row: row, Attempt: p.attempt, At: epoch, Org: "high", Pool: "haiku-4.5", Tier: "sync", Model: "claude-haiku-4-5",
			Type: "succeeded", Cost: 1_000_000, Charged: 1_000_000, Answer: message(strings.Join(text, " "), "end_turn"), Attempts: 1, Latency: time.Second, StopReason: "end_turn",
		})
		if len(records) == 1000 || row == p.n-1 {
			p.append(records...)
			records = records[:0]
		}
	}
}

// BenchmarkSearch searches the 141,600 rows of the persona set and prints, beside
// their bounds, the median of 20 searches of each kind as a page sees it, the
// time in which the index is made, and its memory.
func BenchmarkSearch(b *testing.B) {
	p := newPersona(b)
	rows := func(query string) (rowsJSON, time.Duration) {
		began := time.Now()
		r := read[rowsJSON](p.shop, "jobs/"+p.key+"/rows?"+query)
		return r, time.Since(began)
	}
	before := heap()
	began := time.Now()
	first, took := rows("limit=100")
	fmt.Printf("first page of %d rows: %v\n", first.Total, took.Round(time.Millisecond))
	for first.Indexed < 1 {
		first, _ = rows("limit=0")
	}
	fmt.Printf("index made in %v: %.0f MB (bound: %d MB)\n", time.Since(began).Round(10*time.Millisecond), heap()-before, maxCorpus>>20)
	for _, query := range []string{"", "status=pending", "q=needle-in-a-haystack", "q=trait", "q=zzzz", "q=e", "q=human+reasons+honest", "q=%22protect+human+values%22", "q=stra%C3%9Fe&offset=100000", "q=the+statement"} {
		var all []time.Duration
		var r rowsJSON
		for range 20 {
			var d time.Duration
			r, d = rows(query + "&limit=100")
			all = append(all, d)
		}
		slices.Sort(all)
		fmt.Printf("%-40s %7d rows, median of 20: %6.1f ms, worst %6.1f ms (bound: 200 ms); search alone %.1f ms\n", query, r.Matched, ms(all[10]), ms(all[19]), r.TookMS)
	}
	for b.Loop() {
		rows("q=human&limit=100")
	}
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// heap is what is in use, in MB.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapInuse) / (1 << 20)
}

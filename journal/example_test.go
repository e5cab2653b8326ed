package journal_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// A job is begun, one of its two rows settles, and the process stops. The next
// one finds what is settled and what is not. Here the records are written by
// hand; a fleet that has the journal as its Store writes them.
func Example() {
	ctx := context.Background()
	j := journal.Memory() // or journal.Open(ctx, ".flotilla/journal.db", journal.Options{})
	defer j.Close()

	spec := journal.JobSpec{Identity: [32]byte{0x7f, 0x3a}, Provider: "https://api.anthropic.com:443", N: 2}
	job, err := j.Begin(ctx, spec)
	if err != nil {
		log.Fatal(err)
	}
	sent := flotilla.Record{Kind: flotilla.IntentRecord, Job: job.ID, Row: 0, Attempt: 1, At: time.Now(), Worst: flotilla.USD(0.01)}
	answered := sent
	answered.Kind, answered.Type, answered.Charged = flotilla.OutcomeRecord, "succeeded", flotilla.USD(0.002)
	answered.Answer = []byte(`{"type":"message"}`)
	if err := j.Append([]flotilla.Record{sent, answered}); err != nil {
		log.Fatal(err)
	}
	if err := job.End(ctx, journal.Stopped, nil); err != nil {
		log.Fatal(err)
	}

	job, err = j.Begin(ctx, spec)
	if err != nil {
		log.Fatal(err)
	}
	st, err := job.State(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Key, job.Left, st.Outcome(0), st.Outcome(1), st.Spent)
	for answer, err := range job.Answers(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(answer.Row, string(answer.Body))
	}
	// Output:
	// 7f3a stopped succeeded pending $0.0020
	// 0 {"type":"message"}
}

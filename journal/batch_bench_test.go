package journal_test

import (
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/journal/journaltest"
)

// BenchmarkBatches sends 141,600 rows in batches of 2,000, reads what a resume
// needs of them while all are out, and takes all results in, 1,000 a commit.
// A result costs no more than one by sync: it has no intent.
func BenchmarkBatches(b *testing.B) {
	const n, size, group = 141_600, 2000, 1000
	for b.Loop() {
		p := path(b)
		j := open(b, p, journal.Options{})
		job := begin(b, j, n)
		from := time.Now()
		for row := 0; row < n; row += size {
			rows := make([]int, min(size, n-row))
			for i := range rows {
				rows[i] = row + i
			}
			add(b, j, journaltest.Sent(job.ID, int64(row+1), flotilla.Money(500*len(rows)), rows...))
			add(b, j, journaltest.Step(job.ID, int64(row+1), flotilla.BatchMade))
		}
		b.ReportMetric(time.Since(from).Seconds(), "send-s")
		if err := job.End(b.Context(), journal.Stopped, nil); err != nil {
			b.Fatal(err)
		}
		job = begin(b, j, n)
		from = time.Now()
		if st := state(b, job); st.Held != 500*n {
			b.Fatalf("%v held", st.Held)
		}
		if list, err := job.Batches(b.Context()); err != nil || len(list) != (n+size-1)/size {
			b.Fatal(len(list), err)
		}
		b.ReportMetric(time.Since(from).Seconds(), "resume-s")
		used := cpu()
		from = time.Now()
		var records []flotilla.Record
		for row := range n {
			r := journaltest.Carried(job.ID, int64(row/size*size+1), row, "succeeded", 500, 100)
			r.Answer = answer
			if records = append(records, r); len(records) == group || row == n-1 {
				add(b, j, records...)
				records = records[:0]
			}
		}
		b.ReportMetric(float64(n)/time.Since(from).Seconds(), "results/s")
		b.ReportMetric((cpu()-used).Seconds()*1e6/float64(n), "cpu-µs/result")
		if st := state(b, job); st.Spent != 100*n || st.Batches != 0 {
			b.Fatalf("%v spent, %d batches", st.Spent, st.Batches)
		}
	}
}

package journal_test

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
	"github.com/flotilla-llm/flotilla/journal/journaltest"
)

// BenchmarkAppend commits groups of records as a fleet at full speed does: half
// intents, half outcomes with 1 KB answers. Bounds: 130,000 records a second,
// and 15 ms for a group of 1000 (facts/dependencies.md, journal).
func BenchmarkAppend(b *testing.B) {
	for _, group := range []int{2, 20, 1000} {
		b.Run(fmt.Sprintf("group=%d", group), func(b *testing.B) {
			j := open(b, path(b), journal.Options{})
			job := begin(b, j, 1<<30)
			n, worst, used := 0, time.Duration(0), cpu()
			for b.Loop() {
				records := pairs(job.ID, n, group/2)
				n += group / 2
				from := time.Now()
				add(b, j, records...)
				worst = max(worst, time.Since(from))
			}
			b.ReportMetric(float64(2*n)/b.Elapsed().Seconds(), "records/s")
			b.ReportMetric((cpu()-used).Seconds()*1e6/float64(2*n), "cpu-µs/record")
			b.ReportMetric(float64(worst.Microseconds())/1e3, "worst-ms")
		})
	}
}

var answer = fmt.Appendf(nil, `{"id":"msg","text":"%01000d"}`, 0)

// pairs are the intents and outcomes of n rows from row on.
func pairs(job int64, row, n int) (records []flotilla.Record) {
	for i := row; i < row+n; i++ {
		r := journaltest.Settled(job, i, int64(i+1), "succeeded", 100)
		r.Answer = answer
		records = append(records, journaltest.Intent(job, i, int64(i+1), 500), r)
	}
	return records
}

// settledJournal is a journal with a finished job of n rows.
func settledJournal(b *testing.B, n int) string {
	b.Helper()
	p := path(b)
	j := open(b, p, journal.Options{})
	job := begin(b, j, n)
	for row := 0; row < n; row += 500 {
		add(b, j, pairs(job.ID, row, min(500, n-row))...)
	}
	if err := job.End(b.Context(), journal.Stopped, nil); err != nil {
		b.Fatal(err)
	}
	if err := j.Close(); err != nil {
		b.Fatal(err)
	}
	return p
}

// BenchmarkResume opens a journal with a million settled rows and reads how each
// stands. Bounds: 1 s and 40 MB for the state.
func BenchmarkResume(b *testing.B) {
	const n = 1_000_000
	p := settledJournal(b, n)
	for b.Loop() {
		from := time.Now()
		j := open(b, p, journal.Options{})
		job := begin(b, j, n)
		begun := time.Since(from)
		before := heap()
		from = time.Now()
		used := cpu()
		st := state(b, job)
		b.ReportMetric(time.Since(from).Seconds(), "state-s")
		b.ReportMetric((cpu() - used).Seconds(), "state-cpu-s")
		b.ReportMetric(begun.Seconds(), "begin-s")
		b.ReportMetric(float64(heap()-before)/1e6, "state-MB")
		if st.Counts[journal.Succeeded] != n {
			b.Fatalf("%v", st.Counts)
		}
		from = time.Now()
		used = cpu()
		rows := 0
		for _, err := range job.Answers(b.Context(), 0) {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
		b.ReportMetric(float64(rows)/time.Since(from).Seconds(), "answers/s")
		b.ReportMetric((cpu()-used).Seconds()*1e6/float64(rows), "cpu-µs/answer")
		if err := j.Close(); err != nil {
			b.Fatal(err)
		}
	}
	info, err := os.Stat(p)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(info.Size())/n, "bytes/row")
}

// cpu is what this process has used, which its neighbours on the machine do not change.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkCached looks 141,600 and a million keys up in a journal of a million
// answers, and settles the rows by them.
func BenchmarkCached(b *testing.B) {
	p := settledJournal(b, 1_000_000)
	j := open(b, p, journal.Options{})
	for _, n := range []int{141_600, 1_000_000} {
		b.Run(fmt.Sprintf("keys=%d", n), func(b *testing.B) {
			round := 0
			for b.Loop() {
				round++
				job, err := j.Begin(b.Context(), journaltest.Spec(fmt.Sprintf("keys %d %d %d", n, b.N, round), n))
				if err != nil {
					b.Fatal(err)
				}
				from, used := time.Now(), cpu()
				found, err := job.Cached(b.Context(), n, func(row int) ([16]byte, int) { return journaltest.Hash(row), 0 })
				if err != nil || found[n-1] == 0 {
					b.Fatal(found[n-1], err)
				}
				b.ReportMetric(time.Since(from).Seconds(), "lookup-s")
				b.ReportMetric((cpu() - used).Seconds(), "lookup-cpu-s")
				adoptions := make([]journal.Adoption, 0, n)
				for row, id := range found {
					adoptions = append(adoptions, journal.Adoption{Row: row, Answer: id})
				}
				from, used = time.Now(), cpu()
				if err := job.Adopt(b.Context(), adoptions); err != nil {
					b.Fatal(err)
				}
				b.ReportMetric((cpu() - used).Seconds(), "adopt-cpu-s")
				b.ReportMetric(time.Since(from).Seconds(), "adopt-s")
				if err := job.End(b.Context(), journal.Finished, nil); err != nil {
					b.Fatal(err)
				}
				if err := j.Remove(b.Context(), job.ID); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRows lists the rows of a job, as a dashboard does. Bound: 141,600
// rows well under 300 ms.
func BenchmarkRows(b *testing.B) {
	const n = 141_600
	j := open(b, settledJournal(b, n), journal.Options{})
	for b.Loop() {
		rows := 0
		for _, err := range j.Rows(b.Context(), 1, 0) {
			if err != nil {
				b.Fatal(err)
			}
			rows++
		}
		if rows != n {
			b.Fatalf("%d rows, want %d", rows, n)
		}
	}
}

// BenchmarkSuccesses reads what a gateway may answer from its cache.
func BenchmarkSuccesses(b *testing.B) {
	const n = 141_600
	j := open(b, settledJournal(b, n), journal.Options{})
	realm := journal.Realm{Provider: journaltest.Spec("a", n).Provider}
	for b.Loop() {
		found := map[[16]byte]int64{}
		for s, err := range j.Successes(b.Context(), realm) {
			if err != nil {
				b.Fatal(err)
			}
			found[s.Hash] = s.ID
		}
		if len(found) != n {
			b.Fatalf("%d found, want %d", len(found), n)
		}
	}
}

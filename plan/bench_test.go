package plan

import (
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
)

// BenchmarkRehearsal is the benchmark (c): the whole persona job,
// 141,600 calls over the three orgs of the default scenario, in under 2 s.
func BenchmarkRehearsal(b *testing.B) {
	const n, bound = 141_600, 2.0
	sc, err := emulator.Named("default")
	if err != nil {
		b.Fatal(err)
	}
	w := work{n: n, in: 400, out: 60, maxTokens: 120}
	calls := make([]Call, n) // made beforehand, as an index pass does
	for i := range calls {
		calls[i] = w.calls(1)(i)
	}
	for b.Loop() {
		s := setting(&sc, w, 1)
		s.Calls = func(i int) Call { return calls[i] }
		s.Streamed = false
		o := rehearse(sc, 1, s)
		if o.Succeeded != n || o.RateLimited() > 0 {
			b.Fatalf("%d succeeded, %d rate-limited", o.Succeeded, o.RateLimited())
		}
		b.ReportMetric(o.Makespan().Seconds(), "virtual-s")
		pb := boundsOf(&sc, 100, o)
		b.ReportMetric(o.Makespan().Seconds()/pb.time(polite), "of-polite-bound")
	}
	per := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(per, "s/job")
	b.ReportMetric(per/bound, "of-bound")
	b.ReportMetric(per/n*1e6, "µs/call")
}

package dashboard

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"
)

// BenchmarkSearch searches the 141,600 rows of the persona set and prints, beside
// their bounds, the median of 20 searches of each kind as a page sees it, the
// time in which the index is made, and its memory.
func BenchmarkSearch(b *testing.B) {
	p := newPersona(b, nil)
	p.answer(0, p.n)
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
	v := p.dash.jobs.view(p.id, time.Now())
	for _, query := range []string{"", "status=pending", "q=needle-in-a-haystack", "q=trait", "q=zzzz", "q=e", "q=human+reasons+honest", "q=%22protect+human+values%22", "q=stra%C3%9Fe&offset=100000", "q=the+statement"} {
		var all []time.Duration
		var r rowsJSON
		for range 20 {
			var d time.Duration
			v.text.corpus.known = nil // nothing is remembered
			r, d = rows(query + "&limit=100")
			all = append(all, d)
		}
		slices.Sort(all)
		fmt.Printf("%-40s %7d rows, median of 20: %6.1f ms, worst %6.1f ms (bound: 200 ms); search alone %.1f ms\n", query, r.Matched, ms(all[10]), ms(all[19]), r.TookMS)
	}
	for i := 0; b.Loop(); i++ {
		rows(fmt.Sprintf("q=human+reasons&limit=100&offset=%d", 100*(i%100)))
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

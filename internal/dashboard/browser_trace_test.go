package dashboard

import (
	"encoding/json"
	"slices"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
)

// traceEvent is what is read of an event of the browser's trace.
type traceEvent struct {
	Name string  `json:"name"`
	Ph   string  `json:"ph"`
	PID  int     `json:"pid"`
	TID  int     `json:"tid"`
	Dur  float64 `json:"dur"`  // µs of wall-clock time
	CPU  float64 `json:"tdur"` // µs of the thread's CPU time
	Args struct {
		Name string `json:"name"`
	} `json:"args"`
}

type thread struct{ pid, tid int }

// tasks are those of the page's main thread, the longest first.
type tasks []traceEvent

// traced runs something and gives the tasks of the page's main thread meanwhile.
func (b *browser) traced(do func()) tasks {
	b.t.Helper()
	var mu sync.Mutex
	var all []traceEvent
	over := make(chan struct{})
	err := chromedp.Listen(b.ctx, func(ev any) {
		switch e := ev.(type) {
		case *tracing.EventDataCollected:
			mu.Lock()
			defer mu.Unlock()
			for _, raw := range e.Value {
				var one traceEvent
				if json.Unmarshal(raw, &one) == nil && (one.Ph == "M" && one.Name == "thread_name" || one.Ph == "X" && isTask(one.Name)) {
					all = append(all, one)
				}
			}
		case *tracing.EventTracingComplete:
			close(over)
		}
	})
	if err != nil {
		b.t.Fatal(err)
	}
	call(b, tracing.Start, tracing.StartParams{TraceConfig: &tracing.TraceConfig{
		RecordMode: tracing.TraceConfigRecordModeRecordContinuously, IncludedCategories: []string{"toplevel", "devtools.timeline", "__metadata"}, ExcludedCategories: []string{"*"},
	}})
	do()
	call(b, tracing.End, cdp.Empty{})
	select {
	case <-over:
	case <-time.After(time.Minute):
		b.t.Fatal("the trace did not come")
	}
	mu.Lock()
	defer mu.Unlock()
	main := map[thread]bool{}
	for _, e := range all {
		if e.Ph == "M" && e.Args.Name == "CrRendererMain" {
			main[thread{e.PID, e.TID}] = true
		}
	}
	all = slices.DeleteFunc(all, func(e traceEvent) bool { return e.Ph != "X" || !main[thread{e.PID, e.TID}] })
	slices.SortFunc(all, func(a, b traceEvent) int { return int(b.CPU - a.CPU) })
	return all
}

func isTask(name string) bool {
	return name == "RunTask" || name == "ThreadControllerImpl::RunTask" || name == "ThreadController::Task"
}

// cpu is the CPU time of the longest task, in ms; 0: the browser told none.
func (t tasks) cpu() float64 {
	if len(t) == 0 {
		return 0
	}
	return t[0].CPU / 1000
}

// over counts the tasks of more CPU time than so many ms.
func (t tasks) over(ms float64) (n int) {
	for _, e := range t {
		if e.CPU > ms*1000 {
			n++
		}
	}
	return n
}

// total is the CPU time of all tasks.
func (t tasks) total() (d time.Duration) {
	for _, e := range t {
		d += time.Duration(e.CPU) * time.Microsecond
	}
	return d
}

// heapMB is the page's heap once its garbage is collected, in MB: that of its
// scripts, and with what the browser keeps for its elements.
func (b *browser) heapMB() (scripts, all float64) {
	b.t.Helper()
	call(b, heapprofiler.CollectGarbage, cdp.Empty{})
	u := call(b, runtime.GetHeapUsage, cdp.Empty{})
	return u.UsedSize / (1 << 20), (u.UsedSize + u.EmbedderHeapUsedSize + u.BackingStorageSize) / (1 << 20)
}

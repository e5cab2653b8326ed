package dashboard

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/flotilla-llm/flotilla"
)

// busyLanes is a fleet that never stands still.
type busyLanes struct {
	mu  sync.Mutex
	rng *rand.Rand
	n   int64
}

func (f *busyLanes) snapshot(context.Context) (flotilla.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := flotilla.Snapshot{At: time.Now()}
	for _, org := range []string{"high", "batch", "low"} {
		for _, pool := range []string{"haiku-4.5", "sonnet-4.x", "opus-4.x"} {
			f.n += int64(f.rng.IntN(200))
			level := f.rng.Float64()
			s.Lanes = append(s.Lanes, flotilla.LaneState{
				Org: org, Pool: pool, Tier: "sync", InFlight: f.rng.IntN(120), Window: 120, Cap: 120, Waiting: "itpm", Sent: f.n, Succeeded: f.n,
				Limits: flotilla.Limits{Requests: 4000, Input: 2e6, Output: 4e5}, Capacity: flotilla.Limits{Requests: 4000, Input: 2e6, Output: 4e5},
				Level: flotilla.Limits{Requests: 4000 * level, Input: 2e6 * level, Output: 4e5 * level}, Cost: flotilla.Money(f.n) * 1e6,
			})
		}
	}
	s.Streams = []flotilla.StreamState{{Client: "ada", Queued: f.rng.IntN(500), InFlight: 30, OldestWait: time.Duration(f.rng.IntN(9000)) * time.Millisecond, Cap: -1}}
	return s, nil
}

// The 141,600 rows of the persona set while 200 of them settle a second: searched,
// scrolled, read. It prints what a person would feel, beside its bounds; how fast
// a machine is fails no test.
func TestBrowserAtScale(t *testing.T) {
	b := newBrowser(t)
	fleet := &busyLanes{rng: rand.New(rand.NewPCG(3, 4))}
	p := newPersona(t, func(c *Config) { c.Snapshot, c.Mode = fleet.snapshot, "run" })
	p.answer(0, p.n/2+1)
	web := httptest.NewServer(p.dash)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	stop := p.goOn(p.n/2 + 1)
	defer stop()

	b.window(1280, 900, "light")
	b.do("open", chromedp.Navigate(web.URL+"/#/jobs/"+p.key))
	b.until("the rows", `document.querySelectorAll(".row .snippet").length > 5`)
	eval[bool](b, fmt.Sprintf(`(async () => { while ((await (await fetch("api/jobs/%s/rows?limit=0")).json()).indexed < 0.999); return true; })()`, p.key))
	longest := b.traced(func() {
		b.searches(p.key)
		b.typing()
		b.scrolling()
		b.do("the overview", chromedp.Navigate(web.URL+"/#/"))
		b.until("the lanes", `document.body.innerText.includes("opus-4.x")`)
		eval[bool](b, `new Promise((done) => setTimeout(() => done(true), 5000))`) // it is watched for a while
	})
	t.Logf("longest task of the page while live: %.1f ms of CPU (bound: 100 ms), %d of %d above 50 ms, %v in all", longest.cpu(), longest.over(50), len(longest), longest.total().Round(time.Millisecond))
	if len(longest) == 0 || longest.cpu() == 0 {
		t.Error("the browser told no task, so nothing was measured")
	}
	b.shot("scale-overview-light-1280")
	b.do("the job again", chromedp.Navigate(web.URL+"/#/jobs/"+p.key))
	b.until("the rows again", `document.querySelectorAll(".row .snippet").length > 5`)
	scripts, all := b.heapMB()
	t.Logf("heap of the page: %.1f MB of scripts, %.1f MB with its elements (bound: 60 MB)", scripts, all)
	b.clean()
}

// goOn settles rows from one on, 200 a second, until stop.
func (p *persona) goOn(from int) (stop func()) {
	quit, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for row := from; row+50 < p.n; row += 50 {
			select {
			case <-quit:
				return
			case <-tick.C:
				p.answer(row, row+50)
			}
		}
	}()
	return func() { close(quit); <-over }
}

// queries are twenty different searches, of rare and of common words.
var queries = []string{
	"needle-in-a-haystack", "human reasons honest", `"protect human values"`, "e", "zzzz", "straße", "trait", "the statement", "seventy", "agreeableness/7", "I will take actions",
	"beneficial", "open others", `"would you say"`, "machiavellianism", "99", "yes careful", "größe", "power seeking", "No statement",
}

// searches asks as the page does, and prints the median.
func (b *browser) searches(key string) {
	b.t.Helper()
	list, err := json.Marshal(queries)
	if err != nil {
		b.t.Fatal(err)
	}
	took := eval[[]float64](b, fmt.Sprintf(`(async () => { const took = []; for (const q of %s) { const began = performance.now();
		await (await fetch("api/jobs/%s/rows?limit=100&q=" + encodeURIComponent(q))).json(); took.push(performance.now() - began); } return took; })()`, list, key))
	slices.Sort(took)
	b.t.Logf("search over 141,600 rows, as the page sees it: median of %d %.1f ms, worst %.1f ms (bound: 200 ms)", len(took), took[len(took)/2], took[len(took)-1])
}

// typing searches by the field, and reads what is found.
func (b *browser) typing() {
	b.t.Helper()
	b.do("search", chromedp.Click(`input[type=search]`), chromedp.SendKeys(`input[type=search]`, "needle-in-a-haystack"))
	b.until("the one row", `/^1\s+of\s+141,600/.test(document.querySelector(".found").innerText) && document.querySelectorAll(".row .snippet mark").length > 0`)
	b.do("read it", chromedp.KeyEvent("\r"), chromedp.KeyEvent("\r"))
	b.until("its answer", `/Needle-in-a-Haystack/.test(document.querySelector(".reader .answer")?.innerText ?? "")`)
	b.shot("scale-reading-light-1280")
	b.click("Close")
	b.do("all rows again", chromedp.Focus(`input[type=search]`), chromedp.KeyEvent("\u001b"))
	b.until("all rows", `/^141,600/.test(document.querySelector(".found").innerText)`)
}

// scrolling goes through all rows, and back.
func (b *browser) scrolling() {
	b.t.Helper()
	eval[bool](b, `new Promise((done) => { const box = document.querySelector(".row-box"); let i = 0; const step = () => {
		box.scrollTop = (i < 60 ? i : 120 - i) / 60 * box.scrollHeight; if (++i <= 120) requestAnimationFrame(step); else done(true); }; step(); })`)
	eval[chromedp.Void](b, `document.querySelector(".row-box").scrollTop = document.querySelector(".row-box").scrollHeight`)
	b.until("the last row", `[...document.querySelectorAll(".row")].some((e) => /141,599/.test(e.innerText))`)
	b.shot("scale-last-rows-light-1280")
}

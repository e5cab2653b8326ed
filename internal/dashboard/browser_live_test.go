package dashboard

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/flotilla-llm/flotilla/journal"
)

// A job in the browser: watched, paused and resumed from its page, searched, a
// hostile answer read, all pages looked at in light and dark, wide and narrow.
func TestBrowserLiveJob(t *testing.T) {
	b := newBrowser(t)
	dir := t.TempDir()
	storeResult(t, dir, aResult("latency", "peak", epoch))
	s := newStage(t, setting{speed: 2, conc: 20, rules: hostile, dash: func(c *Config) { c.LabDir = dir }})
	key, _ := s.play(t.Context(), "live.jsonl", promptRows(4000), nil)
	state := func() string {
		info, err := s.journal.Find(t.Context(), key)
		s.must(err)
		return info.Standing()
	}
	b.window(1280, 900, "light")
	b.do("open", chromedp.Navigate(s.url+"/"))
	b.until("the job in the overview", fmt.Sprintf("document.body.innerText.includes(%q)", key))
	b.until("the lanes", `document.body.innerText.toLowerCase().includes("haiku-4.5")`)
	b.until("a chart with points", `document.querySelector("canvas") !== null`)
	b.shot("overview-light-1280")

	b.do("open the job", chromedp.Navigate(s.url+"/#/jobs/"+key))
	b.until("its progress", `/[1-9][0-9,]*\s+of\s+4,000/.test(document.body.innerText)`)
	b.click("Pause")
	s.until("the pause in the journal", func() bool { return state() == "paused" })
	b.until("the pause on the page", `/paused/i.test(document.querySelector("h1").innerText)`)
	b.shot("job-paused-light-1280")
	b.click("Resume")
	s.until("the job going on", func() bool { return state() == journal.Running })
	b.until("the page saying so", `/running/i.test(document.querySelector("h1").innerText)`)

	b.hostile(s, key)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			b.window(width, 900, theme)
			for _, p := range []string{"", "jobs/" + key, "calls", "limits", "experiments", "experiments/latency-peak", "guidelines"} {
				b.do("open "+p, chromedp.Navigate(s.url+"/#/"+p))
				b.until("the page "+p, `document.querySelector("main") && document.querySelector("main").innerText.length > 20 && !/reading…|No such page/.test(document.querySelector("main").innerText)`)
				if p == "calls" {
					b.until("calls in it", `document.querySelectorAll("table.calls tbody tr").length > 5`)
				}
				b.fits(fmt.Sprintf("%q at %d px", p, width))
				b.shot(fmt.Sprintf("page-%s-%s-%d", strings.ReplaceAll(strings.Replace(p, key, "job", 1), "/", "-"), theme, width))
			}
		}
	}
	b.clean()
}

// hostile searches for an answer that is made of markup, reads it, and makes sure
// that all of it is text.
func (b *browser) hostile(s *stage, key string) {
	b.t.Helper()
	b.do("search", chromedp.Click(`input[type=search]`), chromedp.SendKeys(`input[type=search]`, `owned onerror`))
	b.until("rows that match", `/[1-9][0-9,]*\s+of\s+4,000\s+rows\s+in\s+ids,\s+prompts,\s+answers/.test(document.querySelector(".found").innerText) && document.querySelector(".row .snippet")`)
	b.do("read the first", chromedp.KeyEvent("\r"), chromedp.KeyEvent("\r"))
	b.until("prompt and answer", `/Question/.test(document.querySelector(".reader .prompt")?.innerText ?? "") && /<script>document.title="owned"<.script><img src=x onerror=/.test(document.querySelector(".reader .answer")?.innerText ?? "")`)
	b.shot("hostile-light-1280")
	made := eval[int](b, `document.querySelectorAll('.reader img, .reader script, .row img, .row script, a[href^="javascript"]').length`)
	title := eval[string](b, "document.title")
	if made != 0 || strings.Contains(title, "owned") {
		b.t.Errorf("a hostile answer made %d elements; the title is %q", made, title)
	}
	b.click("Raw")
	b.until("the raw answer", `/"content"/.test(document.querySelector(".reader").innerText)`)
	b.click("Close")
	if resp, err := http.Get(s.url + "/"); err != nil || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "script-src 'self'") {
		b.t.Error("the page has no policy that holds scripts off:", err)
	} else {
		_ = resp.Body.Close()
	}
}

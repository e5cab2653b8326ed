package dashboard

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/job"
	"github.com/flotilla-llm/flotilla/internal/job/sample"
	"github.com/flotilla-llm/flotilla/internal/judge"
	"github.com/flotilla-llm/flotilla/journal"
)

// labelRubric says whether a completion is kind.
const labelRubric = `name: kind
version: "1"
model: claude-haiku-4-5
max_tokens: 40
prompt: "Is this kind? {{.completion}}"
verdict: {form: label, labels: [kind, unkind]}
`

// verdictRules answer as judges do, and as they should not.
var verdictRules = []emulator.AnswerRule{
	{Match: `Is this kind`, First: true, Template: `{"label": "{{pick "kind" "unkind"}}"}`},
	{Match: `question: Question \d*7\?`, First: true, Template: `<script>document.title="owned"</script><img src=x onerror="document.title='owned'"> I give it 20 or 80.`},
	{Match: `question: Question \d*[12]\?`, First: true, Template: `{"score": {{int 0 40}}}`, Refuse: 0.1, Cut: 0.1},
	{Match: `question: `, First: true, Template: `{"score": {{int 30 100}}}`},
}

// playJudges begins a job of judges over rows with three topics, of which one in
// ten has markup for its completion.
func playJudges(t *testing.T, s *stage, n int) (key string, end func()) {
	t.Helper()
	panel, err := judge.NewPanel(judge.Settings{
		Rubrics: []*judge.Rubric{parsed(t, echoRubric), parsed(t, labelRubric)}, Models: []string{"claude-haiku-4-5", "claude-sonnet-4-6"}, By: "topic", Label: "right",
	})
	s.must(err)
	var rows strings.Builder
	for i := range n {
		completion := fmt.Sprintf("Answer %d, of course.", i)
		if i%10 == 7 {
			completion = `<b>Bold</b> <img src=x onerror=\"document.title='owned'\"> ` + completion
		}
		fmt.Fprintf(&rows, `{"id":"r/%d","topic":"topic %d","question":"Question %d?","completion":"%s","right":%t}`+"\n", i, i%12, i, completion, i%2 == 0)
	}
	return s.play(t.Context(), "judged.jsonl", rows.String(), func(c *job.Config) {
		c.Kind, c.Command, c.Craft = journal.KindJudge, "flotilla judge judged.jsonl --rubric echo.yaml", panel
		c.Shape = job.Shape{Repeats: 2, Provider: c.Shape.Provider, Version: c.Shape.Version, IDFields: []string{"id"}}
	})
}

// The page of a job of judges in the browser: figures as the API has them,
// verdicts chosen by a press on a figure and read, hostile ones too, live and
// afterwards, in light and dark, wide and narrow.
func TestBrowserJudge(t *testing.T) {
	b := newBrowser(t)
	s := newStage(t, setting{speed: 20, rules: verdictRules})
	key, end := playJudges(t, s, 300)
	b.window(1280, 900, "light")
	b.do("open the job", chromedp.Navigate(s.url+"/#/jobs/"+key))
	b.until("a way to its verdicts", `document.querySelector(".to-verdicts a") !== null`)
	eval[chromedp.Void](b, `document.querySelector(".to-verdicts a").click()`)
	b.until("verdicts while it runs", `document.querySelector(".one .mean b") && document.querySelectorAll(".verdicts .row .snippet").length > 5`)
	b.shot("judge-live-light-1280")
	end()
	var page judgeJSON
	s.until("all verdicts summed up", func() bool {
		page = judgeJSON{}
		s.get("jobs/"+key+"/judge", &page)
		return page.Ready && page.Of == 300*4*2
	})
	b.do("look again", chromedp.Reload())
	b.until("all of them", `/2,400\s+of\s+2,400\s+verdicts/.test(document.querySelector(".standing-of")?.innerText ?? "")`)
	b.judgeFigures(&page)
	b.judgeChoice(s, key)
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 390} {
			b.window(width, 900, theme)
			for _, p := range []string{"", "?row=28&q="} {
				b.do("open "+p, chromedp.Navigate(s.url+"/#/jobs/"+key+"/verdicts"+p))
				b.until("the page "+p, `document.querySelector(".one .mean b") && document.querySelectorAll(".verdicts .row").length > 2 && (!location.hash.includes("row=") || document.querySelector(".reader .answer"))`)
				name := fmt.Sprintf("judge-%d-%s-%d", len(p), theme, width)
				b.fits(name)
				b.shot(name)
				if p != "" {
					continue
				}
				for _, part := range []string{"groups", "pairs", "verdict-rows"} {
					eval[chromedp.Void](b, fmt.Sprintf(`document.getElementById(%q).scrollIntoView()`, part))
					b.shot(name + "-" + part)
				}
			}
			eval[chromedp.Void](b, `document.querySelector(".reader").scrollIntoView()`)
			b.shot(fmt.Sprintf("judge-reading-%s-%d", theme, width))
		}
	}
	b.clean()
}

// judgeFigures holds what stands on the page against what the API says.
func (b *browser) judgeFigures(page *judgeJSON) {
	b.t.Helper()
	ones := eval[[]string](b, `[...document.querySelectorAll(".one")].map((e) => e.innerText)`)
	if len(ones) != 4 || len(page.Summary.Judges) != 4 {
		b.t.Fatalf("%d judges on the page, %d in the summary", len(ones), len(page.Summary.Judges))
	}
	for i, j := range page.Summary.Judges {
		want := []string{j.Rubric, j.Model, fmt.Sprint("scored ", j.Total.Counts.Scored), fmt.Sprint("unparsable ", j.Total.Counts.Unparsable), fmt.Sprint("truncated ", j.Total.Counts.Truncated)}
		if j.Total.Mean != nil {
			want = append(want, strings.TrimSuffix(fmt.Sprintf("%.1f", j.Total.Mean.Value), ".0"))
		}
		for _, text := range want {
			if !strings.Contains(ones[i], text) {
				b.t.Errorf("%q is not in %q", text, ones[i])
			}
		}
	}
	for what, selector := range map[string]string{"groups": ".groups tbody tr", "pairs": ".pair", "disagreements": ".largest tbody tr", "bars": ".histogram .bar", "confusion": ".confusion"} {
		if eval[int](b, fmt.Sprintf("document.querySelectorAll(%q).length", selector)) == 0 {
			b.t.Error("the page shows no", what)
		}
	}
}

// judgeChoice chooses verdicts by figures and by words, and reads some.
func (b *browser) judgeChoice(s *stage, key string) {
	b.t.Helper()
	eval[chromedp.Void](b, `[...document.querySelectorAll(".one")][0].querySelector(".bar:not(:disabled)").click()`)
	b.until("the verdicts of a bar", `/judge=0/.test(location.hash) && /low=/.test(location.hash) && /^[1-9][0-9]*\s+of\s+2,400/.test(document.querySelector(".found").innerText)`)
	b.click("All verdicts")
	b.do("search", chromedp.Click(`.verdicts input[type=search]`), chromedp.SendKeys(`.verdicts input[type=search]`, `onerror "I give it 20 or 80"`))
	b.until("hostile verdicts", `/^[1-9][0-9]*\s+of\s+2,400/.test(document.querySelector(".found").innerText) && document.querySelector(".verdicts .row .snippet mark")`)
	b.do("read the first", chromedp.KeyEvent("\r"), chromedp.KeyEvent("\r"))
	b.until("row, completion and verdict", `/Question/.test(document.querySelector(".reader .prompt")?.innerText ?? "") && /<b>Bold<.b>/.test(document.querySelector(".reader .completion")?.innerText ?? "") && /<script>document.title="owned"<.script>/.test(document.querySelector(".reader .answer")?.innerText ?? "")`)
	made := eval[int](b, `document.querySelectorAll('.reader img, .reader script, .row img, .row script').length`)
	if title := eval[string](b, "document.title"); made != 0 || strings.Contains(title, "owned") {
		b.t.Errorf("a hostile verdict made %d elements; the title is %q", made, title)
	}
	b.until("why it is no verdict", `/two numbers/.test(document.querySelector(".reader .answer").innerText) && document.querySelectorAll(".others-of tbody tr").length === 8`)
	b.click("Raw")
	b.until("the raw answer", `/"content"/.test(document.querySelector(".reader").innerText)`)
	b.click("Close")
	b.do("from the beginning", chromedp.Navigate(s.url+"/#/jobs/"+key+"/verdicts"))
	b.until("disagreements", `document.querySelector(".largest button.name") !== null`)
	want := eval[string](b, `document.querySelector(".largest button.name").innerText.trim()`)
	eval[chromedp.Void](b, `document.querySelector(".largest button.name").click()`)
	b.until("the largest disagreement", fmt.Sprintf(`document.querySelector(".reader h3")?.innerText.trim() === %q && document.querySelectorAll(".others-of tbody tr").length === 8`, want))
	b.click("Close")
}

// The 141,600 rows of the persona set by two judges, all of them answered. It
// prints what a person would feel, beside its bounds.
func TestBrowserJudgeAtScale(t *testing.T) {
	b := newBrowser(t)
	r, err := judge.Load("trait")
	if err != nil {
		t.Fatal(err)
	}
	c := newCourt(t, sample.Path(t, sample.Persona), judge.Settings{Rubrics: []*judge.Rubric{r}, Models: []string{"claude-haiku-4-5", "claude-sonnet-4-6"}, By: "trait"}, job.Shape{})
	var records []flotilla.Record
	for call := range c.calls {
		switch {
		case call%97 == 5:
			records = append(records, c.record(call, "I would rather not.", "end_turn"))
		case call%53 == 7:
			records = append(records, c.record(call, `{"score": 4`, "max_tokens"))
		default:
			records = append(records, c.record(call, fmt.Sprintf(`{"score": %d}`, (call/2*7919%67+call/1888%30+call%2*5)%101), "end_turn"))
		}
		if len(records) == 2000 || call == c.calls-1 {
			c.append(records...)
			records = records[:0]
		}
	}
	web := httptest.NewServer(c.dash)
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	b.window(1280, 900, "light")
	began := time.Now()
	b.do("open", chromedp.Navigate(web.URL+"/#/jobs/"+c.key+"/verdicts"))
	b.until("all verdicts", `document.querySelectorAll(".groups tbody tr").length > 20 && document.querySelector(".largest")`)
	t.Logf("from nothing to all 283,200 verdicts read and summed up: %v", time.Since(began).Round(100*time.Millisecond))
	longest := b.traced(func() {
		b.click("highest")
		eval[chromedp.Void](b, `[...document.querySelectorAll("button")].find((e) => /^Show all/.test(e.innerText)).click()`)
		b.until("every group", `document.querySelectorAll(".groups tbody tr").length > 100`)
		b.shot("judge-scale-groups-light-1280")
		eval[chromedp.Void](b, `document.querySelector(".bar:not(:disabled)").click()`)
		b.until("the verdicts of a bar", `/of\s+283,200/.test(document.querySelector(".found").innerText) && document.querySelectorAll(".verdicts .row .snippet").length > 5`)
		b.shot("judge-scale-rows-light-1280")
		b.scrolling283()
	})
	t.Logf("longest task of the page: %.1f ms of CPU (bound: 100 ms), %d of %d above 50 ms", longest.cpu(), longest.over(50), len(longest))
	took := eval[[]float64](b, fmt.Sprintf(`(async () => { const took = []; for (const q of ["", "status=truncated", "low=40&high=60", "order=-score&judge=1", "order=score&offset=200000", "low=90&offset=100"]) { const began = performance.now();
		const got = await (await fetch("api/jobs/%s/verdicts?limit=100&" + q)).json(); took.push(Math.round(performance.now() - began), Math.round(got.took_ms)); } return took; })()`, c.key))
	t.Logf("a page of verdicts out of 283,200, as the page sees it, and of that choosing them: %v ms (bound: 200 ms)", took)
	b.fits("the page at scale")
	b.clean()
}

// scrolling283 goes through the list, and back.
func (b *browser) scrolling283() {
	b.t.Helper()
	eval[bool](b, `new Promise((done) => { const box = document.querySelector(".row-box"); let i = 0; const step = () => {
		box.scrollTop = (i < 60 ? i : 120 - i) / 60 * box.scrollHeight; if (++i <= 120) requestAnimationFrame(step); else done(true); }; step(); })`)
}

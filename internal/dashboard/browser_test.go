package dashboard

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browsers are the names under which one may be installed.
var browsers = []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"}

// browser is a page of a real browser, and everything it complained of.
type browser struct {
	t   *testing.T
	ctx context.Context

	mu     sync.Mutex
	faults []string
}

// newBrowser starts one. Where there is none the test is skipped, aloud, but for
// CI=true.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("it starts a browser")
	}
	var path string
	for _, name := range browsers {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no browser is installed: apt install chromium")
		}
		t.Skip("NOT RUN: no browser is installed (apt install chromium)")
	}
	flags := append([]chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.UserDataDir(t.TempDir()), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.Headless, chromedp.NoFirstRun,
		chromedp.WSURLReadTimeout(time.Minute),
	}, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("hide-scrollbars", true))
	ctx, stop := chromedp.NewExecAllocator(context.Background(), flags...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Do(ctx); err != nil { // its life is that of this context: no deadline
		t.Fatal("start the browser:", err)
	}
	var late context.CancelFunc
	b.ctx, late = context.WithTimeout(ctx, 3*time.Minute)
	t.Cleanup(late)
	if err := chromedp.Listen(b.ctx, b.heard); err != nil {
		t.Fatal(err)
	}
	call(b, log.Enable, cdp.Empty{})
	call(b, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `window.violations = [];
		document.addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective + " " + e.blockedURI));
		window.dialogs = 0; for (const f of ["alert", "confirm", "prompt"]) window[f] = () => { dialogs++ };`})
	return b
}

// call sends a command of the protocol.
func call[P, R any](b *browser, cmd cdp.Command[P, R], params P) R {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, cmd, params)
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// heard takes in what a page complains of.
func (b *browser) heard(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventExceptionThrown:
		b.faults = append(b.faults, fmt.Sprintf("exception: %s %+v", e.ExceptionDetails.Text, e.ExceptionDetails.Exception))
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.ConsoleAPICalledTypeError || e.Type == runtime.ConsoleAPICalledTypeWarning {
			text := string(e.Type)
			for _, a := range e.Args {
				text += " " + string(a.Value) + a.Description
			}
			b.faults = append(b.faults, text)
		}
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError || e.Entry.Level == log.EntryLevelWarning {
			b.faults = append(b.faults, fmt.Sprintf("%s: %s %s", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	}
}

// clean fails where the page complained of anything, or something was kept from
// being run.
func (b *browser) clean() {
	b.t.Helper()
	violations, dialogs := eval[[]string](b, "violations"), eval[int](b, "dialogs")
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range append(b.faults, violations...) {
		b.t.Error("the page complains:", f)
	}
	if dialogs > 0 {
		b.t.Errorf("%d dialogs were opened by what is shown", dialogs)
	}
}

func (b *browser) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.failed(what, err)
	}
}

func (b *browser) failed(what string, err error) {
	b.t.Helper()
	b.shot("failed-" + b.t.Name())
	b.mu.Lock()
	defer b.mu.Unlock()
	b.t.Fatalf("%s: %v; the page complained of %q", what, err, b.faults)
}

// eval is the value of a JavaScript expression.
func eval[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.failed(expression, err)
	}
	return v
}

// window makes the page so large, and dark or light.
func (b *browser) window(width, height int64, theme string) {
	b.t.Helper()
	b.do("resize", chromedp.EmulateViewport(width, height))
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}})
}

// until waits for a JavaScript expression to be true.
func (b *browser) until(what, expression string) {
	b.t.Helper()
	b.do("wait for "+what, chromedp.Poll[chromedp.Void]("!!("+expression+")", chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(40*time.Second)))
}

// click presses the button that says so.
func (b *browser) click(label string) {
	b.t.Helper()
	found := fmt.Sprintf("[...document.querySelectorAll('button')].find((e) => e.innerText.trim() === %q && !e.disabled && e.checkVisibility())", label)
	b.until("a button "+label, found)
	eval[chromedp.Void](b, "("+found+").click()")
}

// shot keeps a picture: in FLOTILLA_SHOTS, else among the test's artifacts.
func (b *browser) shot(name string) {
	dir := os.Getenv("FLOTILLA_SHOTS")
	if dir == "" {
		dir = b.t.ArtifactDir()
	}
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	png, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Log("no picture of", name+":", err)
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// fits fails where the page is wider than its window.
func (b *browser) fits(what string) {
	b.t.Helper()
	over := eval[string](b, `(() => { const w = innerWidth; if (document.documentElement.scrollWidth <= w) return "";
		const e = [...document.querySelectorAll("body *")].find((e) => e.getBoundingClientRect().right > w + 1 && e.checkVisibility());
		return document.documentElement.scrollWidth + " px" + (e ? ", by " + e.tagName + "." + e.className : ""); })()`)
	if over != "" {
		b.t.Errorf("%s does not fit its window: %s", what, strings.TrimSpace(over))
	}
}

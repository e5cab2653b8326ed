package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser is the Chromium of this machine. Without one a test is skipped, and
// fails where nothing is skipped (CI).
func browser(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("there is no chromium, and CI skips nothing")
	}
	t.Skip("there is no chromium")
	return ""
}

// The functions of the pages are tested where they run.
func TestUnits(t *testing.T) {
	path := browser(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	built := build(root, "test/units.jsx")
	if err := complaints(built); err != nil {
		t.Fatal(err)
	}
	var script string
	for _, f := range built.OutputFiles {
		if filepath.Ext(f.Path) == ".js" {
			script = string(f.Contents)
		}
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	ctx, cancel = context.WithTimeout(ctx, time.Minute) // of a browser that hangs
	defer cancel()
	failures, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](script+";failures"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range failures {
		t.Error(f)
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flotilla-llm/flotilla/internal/lab"
)

// The example says that it comes from an emulator, its results still pass for
// results, and every file that it leads to is there.
func TestExampleGuidelines(t *testing.T) {
	const dir = "../../docs/examples"
	text, err := os.ReadFile(filepath.Join(dir, "api_throughput_guidelines.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "**These numbers come from the emulator (tier-start/1), not from the provider.**") {
		t.Error("it does not say whose numbers it has")
	}
	results, err := lab.ReadAll(filepath.Join(dir, "results"))
	if err != nil || len(results) != len(lab.All()) {
		t.Errorf("%d results of %d experiments: %v", len(results), len(lab.All()), err)
	}
	for _, r := range results {
		if r.Emulated != "tier-start/1" {
			t.Errorf("%s is of %q", r.Experiment, r.Emulated)
		}
	}
	links := regexp.MustCompile(`\]\(([^)]+)\)`).FindAllStringSubmatch(string(text), -1)
	if len(links) < 20 {
		t.Errorf("only %d links", len(links))
	}
	for _, l := range links {
		if _, err := os.Stat(filepath.Join(dir, l[1])); err != nil {
			t.Errorf("it leads to %s: %v", l[1], err)
		}
	}
}

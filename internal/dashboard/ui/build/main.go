// Command build bundles the pages of the dashboard: sources in ui/src and
// ui/third_party become the few files of ui/dist, which are committed and
// embedded, so that neither go install nor a build of ours needs this program.
//
//	go generate ./internal/dashboard
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run("ui"); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// run writes the bundle of the pages under root into its dist, and nothing else
// stays there: a file of an older bundle would be embedded for ever.
func run(root string) error {
	files, err := bundle(root)
	if err != nil {
		return err
	}
	dist := filepath.Join(root, "dist")
	if err := os.RemoveAll(dist); err != nil {
		return fmt.Errorf("emptying %s: %w", dist, err)
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return fmt.Errorf("making %s: %w", dist, err)
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dist, name), data, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

package plot

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	rewrite = flag.Bool("rewrite", false, "write testdata anew")
	look    = flag.String("look", "", "a directory to write all figures to, as PNG and SVG, for looking at")
)

// The SVGs under testdata are the figures as they were looked at. Run with
// -rewrite after a change that is meant, and look.
func TestFiguresAsLookedAt(t *testing.T) {
	for name, figure := range figures {
		t.Run(name, func(t *testing.T) {
			got, err := figure().SVG()
			if err != nil {
				t.Fatal(err)
			}
			again, err := figure().SVG()
			if err != nil || string(again) != string(got) {
				t.Errorf("drawn twice, the figure differs (error %v)", err)
			}
			golden := filepath.Join("testdata", name+".svg")
			if *rewrite {
				write(t, golden, got)
			}
			if *look != "" {
				image, err := figure().PNG()
				if err != nil {
					t.Fatal(err)
				}
				write(t, filepath.Join(*look, name+".png"), image)
				write(t, filepath.Join(*look, name+".svg"), got)
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s differs (-want +got):\n%s", golden, diff)
			}
		})
	}
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

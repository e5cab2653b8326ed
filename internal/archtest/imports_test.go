package archtest

import (
	"slices"
	"strings"
	"testing"
)

// leaves point to nothing of ours.
var leaves = []string{"internal/sched", "internal/route", "internal/wire", "price"}

func and(more ...string) []string { return append(slices.Clone(leaves), more...) }

// anything is the row of the packages that wire the others together.
var anything = []string{"*"}

// mayImport is the table of arrows of docs/design.md: a package (with what
// lies below it) and what of ours it may import. "" is the root.
var mayImport = map[string][]string{
	"":                   leaves,
	"price":              {},
	"internal/wire":      {},
	"internal/route":     {},
	"internal/plot":      {},
	"internal/sched":     {"internal/route"},
	"emulator":           {"internal/wire"}, // its own buckets and prices: a shared mistake would agree with itself
	"journal":            and(""),
	"plan":               and("", "emulator"),
	"internal/job":       and(""),
	"internal/judge":     and("", "internal/job"),
	"internal/lab":       and("", "internal/job", "emulator", "internal/plot"),
	"internal/jobbook":   and("", "journal", "internal/job"),
	"internal/gateway":   and("", "journal", "internal/job", "internal/jobbook"),
	"internal/dashboard": and("", "journal", "internal/job", "internal/jobbook", "internal/judge", "internal/lab", "internal/plot"),
	"internal/accept":    anything,
	"internal/archtest":  {},
	"internal/memnet":    {},
	"cmd":                anything,
}

// forTests are packages that only tests import.
var forTests = []string{"internal/memnet", "journal/journaltest"}

// onlyIn keeps weight and concerns where they belong: who else imports these
// modules, of other people, makes the library heavier for everybody.
var onlyIn = map[string][]string{
	"github.com/parquet-go/": {"internal/job", "cmd"},
	"modernc.org/":           {"journal"},
	"github.com/spf13/":      {"cmd"},
	"charm.land/":            {"cmd"},
	"github.com/lmittmann/":  {"cmd"},
	"github.com/prometheus/": {"internal/gateway", "cmd"},
	"go.opentelemetry.io/":   {"internal/gateway", "cmd"},
	"github.com/chromedp/":   {},
	"github.com/evanw/":      {"internal/dashboard/ui/build"},
	"net/http/httptest":      {},
	"testing":                {"journal/journaltest", "internal/job/sample"},
}

// row is the longest entry of the table that dir lies in.
func row(dir string) (string, bool) {
	for d := dir; d != "" && d != "."; d = d[:max(0, strings.LastIndex(d, "/"))] {
		if _, ok := mayImport[d]; ok {
			return d, true
		}
	}
	return "", dir == ""
}

func within(dir, top string) bool { return dir == top || strings.HasPrefix(dir, top+"/") }

func TestImportTable(t *testing.T) {
	for _, f := range code(t) {
		from, ok := row(f.dir)
		if !ok {
			t.Errorf("%s: the package has no row in the table of imports", f.path())
			continue
		}
		for _, imported := range f.imports {
			to, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			checkArrow(t, f, from, strings.TrimPrefix(to, "/"))
		}
	}
}

func checkArrow(t *testing.T, f *file, from, to string) {
	t.Helper()
	if slices.Contains(forTests, to) {
		t.Errorf("%s imports %q, which is for tests", f.path(), to)
	}
	allowed := mayImport[from]
	if slices.Equal(allowed, anything) || from != "" && within(to, from) {
		return
	}
	for _, a := range allowed {
		if a == to || a != "" && within(to, a) {
			return
		}
	}
	t.Errorf("%s imports %q, which %q may not (docs/design.md)", f.path(), to, from)
}

func TestWeightStaysWhereItBelongs(t *testing.T) {
	for _, f := range code(t) {
		for _, imported := range f.imports {
			for prefix, homes := range onlyIn {
				if !within(imported, strings.TrimSuffix(prefix, "/")) {
					continue
				}
				if !slices.ContainsFunc(homes, func(h string) bool { return within(f.dir, h) }) {
					t.Errorf("%s imports %s, which belongs in %v", f.path(), imported, homes)
				}
			}
		}
	}
}

// The table itself must be able to say no.
func TestImportTableRefuses(t *testing.T) {
	for _, c := range []struct {
		dir, to string
		want    bool
	}{
		{"internal/sched", "internal/route", true},
		{"internal/sched", "price", false},
		{"emulator", "internal/sched", false},
		{"emulator", "", false},
		{"", "journal", false},
		{"", "internal/wire", true},
		{"plan", "emulator", true},
		{"journal", "emulator", false},
		{"internal/job", "journal", false},
		{"internal/gateway", "journal", true},
		{"internal/gateway", "internal/lab", false},
		{"internal/dashboard", "internal/lab", true},
		{"internal/dashboard", "internal/gateway", false},
		{"cmd/flotilla", "emulator", true},
	} {
		from, ok := row(c.dir)
		if !ok {
			t.Fatalf("%q has no row", c.dir)
		}
		allowed := slices.Equal(mayImport[from], anything) || slices.Contains(mayImport[from], c.to)
		if allowed != c.want {
			t.Errorf("%q may import %q: %v, want %v", c.dir, c.to, allowed, c.want)
		}
	}
	if _, ok := row("internal/elsewhere"); ok {
		t.Error("an unknown package has a row")
	}
}

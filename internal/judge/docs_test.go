package judge

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// docs/judge.md tells of every built-in rubric, status and form; its rubric is
// one, its summary is one, and what its table of readings says is so.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/judge.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, name := range append(append(Builtins(), Statuses()...), FormScore, FormLabel, FormJSON) {
		if !strings.Contains(text, "| `"+name+"` |") {
			t.Errorf("no table has %s", name)
		}
	}
	if !strings.Contains(text, traitText) {
		t.Error("its summary is not what TestText makes")
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindStringSubmatch(text)
	if block == nil {
		t.Fatal("it has no rubric")
	}
	r, err := Parse("docs/judge.md", []byte(block[1]))
	if err != nil {
		t.Fatal(err)
	}
	want := Verdict{Form: FormScore, Min: 1, Max: 5, Field: "score", Structured: true}
	if d := cmp.Diff(want, r.Verdict); d != "" || r.Name != "brevity" || r.Fields["completion"] != "answer" || len(r.Refusal) != 1 {
		t.Errorf("%+v (-want +got):\n%s", r, d)
	}
}

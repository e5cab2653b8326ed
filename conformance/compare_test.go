package main

import (
	"strings"
	"testing"
)

// What differs is found and named; what is equal in other words is not.
func TestDifference(t *testing.T) {
	for _, c := range []struct{ a, b, at string }{
		{`{"x":[1,{"y":"z"}],"n":null}`, `{"n":null,"x":[1,{"y":"z"}]}`, ""},
		{`{"x":1}`, `{"x":1.0}`, ".x."},
		{`{"x":[1,{"y":"z"}]}`, `{"x":[1,{"y":"q"}]}`, ".x[1].y."},
		{`{"x":[1,2]}`, `{"x":[1]}`, ".x."},
		{`{"x":null}`, `{}`, ".x"},
		{`{}`, `{"x":null}`, ".x"},
		{`true`, `{"x":1}`, "."},
		{`"a"`, `"a"`, ""},
	} {
		if at, _, _ := difference("", value([]byte(c.a)), value([]byte(c.b))); at != c.at {
			t.Errorf("%s and %s differ at %q, want %q", c.a, c.b, at, c.at)
		}
	}
}

func TestCompareFindsWhatIsMissing(t *testing.T) {
	direct := []outcome{
		{Check: "same", OK: true, Result: []byte(`1`)},
		{Check: "other", OK: true, Result: []byte(`1`)},
		{Check: "gone", OK: true},
		{Check: "fails", Error: "cold"},
		{Check: "breaks", OK: true},
	}
	seen := []outcome{
		{Check: "same", OK: true, Result: []byte(`1`)},
		{Check: "other", OK: true, Result: []byte(`2`)},
		{Check: "fails", OK: true},
		{Check: "breaks", Error: "hot"},
		{Check: "new", OK: true},
	}
	got := strings.Join(compare(direct, seen, "there"), "\n")
	for _, want := range []string{"other: at .", "gone was not run there", "fails fails direct: cold", "breaks fails there: hot", "new was not run direct"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "same") {
		t.Errorf("what is the same is told:\n%s", got)
	}
}

func TestJudgeTests(t *testing.T) {
	list := map[string]known{"A": {"not found", "placeholder"}}
	for _, c := range []struct {
		how, said, want string
	}{
		{"fail", "x not found", ""},
		{"pass", "", "A is listed as failing: pass"},
		{"fail", "other", "A fails otherwise"},
		{"", "", "A is listed and was not run"},
	} {
		results, said := map[string]string{"B": "pass"}, map[string]string{"A": c.said}
		if c.how != "" {
			results["A"] = c.how
		}
		err := judgeTests(list, results, said)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	if err := judgeTests(nil, map[string]string{"C": "fail"}, map[string]string{"C": "why"}); err == nil || !strings.Contains(err.Error(), "C fails and is not listed") {
		t.Errorf("an unlisted failure: %v", err)
	}
}

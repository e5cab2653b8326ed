package sample

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// The generated rows have the numbers that the assertions on the real ones rest on.
func TestShapes(t *testing.T) {
	for _, c := range []struct {
		name           string
		over           []string
		rows, distinct int
		ids            bool
	}{
		{Persona, []string{"trait", "statement"}, 141_600, 141_597, true},
		{Test, []string{"question"}, 1_319, 1_319, false},
		{Solutions, []string{"question", "completion"}, 5_276, 5_268, true},
	} {
		var b bytes.Buffer
		if err := Rows(&b, c.name); err != nil {
			t.Fatal(err)
		}
		distinct, ids, foreign, rows := map[string]bool{}, map[string]bool{}, 0, 0
		sc := bufio.NewScanner(&b)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			var row map[string]any
			if err := json.Unmarshal(sc.Bytes(), &row); err != nil {
				t.Fatal(err)
			}
			key := ""
			for _, f := range c.over {
				key += row[f].(string) + "\x00"
			}
			distinct[key] = true
			if utf8.RuneCountInString(key) < len(key) {
				foreign++
			}
			if id, ok := row["id"].(string); ok {
				ids[id] = true
				if !strings.Contains(id, "/") {
					t.Fatalf("%s: id %s has no slash", c.name, id)
				}
			}
			rows++
		}
		if rows != c.rows || len(distinct) != c.distinct || foreign == 0 || c.ids && len(ids) != rows {
			t.Errorf("%s: %d rows, %d distinct, %d ids, %d beyond ASCII", c.name, rows, len(distinct), len(ids), foreign)
		}
	}
}

func TestGenerationRepeats(t *testing.T) {
	var a, b bytes.Buffer
	for _, w := range []*bytes.Buffer{&a, &b} {
		if err := Rows(w, Test); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("two runs differ")
	}
}

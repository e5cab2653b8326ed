package job

import (
	"slices"
	"strings"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// unknownModel refuses a model that has no price, and names the one that was
// most likely meant.
func unknownModel(name string, known *price.Table) error {
	hint := "correct the name, or"
	if near := nearestModel(name, known); near != "" {
		hint = "did you mean " + near + "? Else"
	}
	return WithHint(&flotilla.UnknownModelError{Model: name}, hint+" give its prices in dollars a million tokens: --price in=3,out=15")
}

// misspelt is how many letters a name may be off to be taken for another.
const misspelt = 3

// nearestModel is the id or alias that is the fewest letters away, up to
// misspelt; else the newest model whose family the name has a word of; else
// empty.
func nearestModel(name string, known *price.Table) string {
	name = strings.ToLower(name)
	best, off, family := "", misspelt+1, ""
	for _, m := range known.Models() {
		if !m.Priced() {
			continue
		}
		for _, id := range append([]string{m.ID}, m.Aliases...) {
			if d := distance(name, id); d < off || d == off && len(id) < len(best) {
				best, off = id, d
			}
		}
		if family == "" && m.Status == price.Active && slices.Contains(strings.FieldsFunc(name, notLetter), m.Family()) {
			family = m.ID
		}
	}
	if off <= misspelt {
		return best
	}
	return family
}

func notLetter(r rune) bool { return r < 'a' || r > 'z' }

// distance is how many letters must be put in, taken out or changed to make one
// text of the other.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

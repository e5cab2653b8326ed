package judge

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tidwall/gjson"
)

// plainLabel is a label without case, punctuation and dress, as labels are
// compared. A question mark stays: "correct?" is no verdict.
func plainLabel(s string) string {
	s = strings.ToLower(undressed(s))
	s = strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r) || strings.ContainsRune("?+%<>=", r) {
			return r
		}
		if r == '\'' {
			return -1
		}
		return ' '
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// longestLabel is more than a label can be in all its dress; what is longer is
// not looked at, so that an answer of labels alone is read in linear time.
const longestLabel = 200

// label is the rubric's spelling of a label that is written out in s.
func (r *Rubric) label(s string) (string, bool) {
	if len(s) > longestLabel {
		return "", false
	}
	if i := slices.Index(r.plain, plainLabel(s)); i >= 0 {
		return r.Verdict.Labels[i], true
	}
	return "", false
}

// labelOf reads a label that is a value in JSON.
func (r *Rubric) labelOf(v gjson.Result) claim {
	text := v.Raw
	if v.Type == gjson.String {
		text = v.Str
	}
	if l, ok := r.label(text); ok {
		return claim{label: &l}
	}
	if !v.Exists() {
		return claim{fault: "the JSON has no field " + r.Verdict.Field}
	}
	return claim{fault: quotedShort(text) + " is none of the labels"}
}

var (
	labelWord = regexp.MustCompile(`(?i)(?:^|[^\pL\pN])((?:final|overall)\s+)?(label|verdict|judge?ment|classification|category|decision|answer|rating|result|conclusion|choice|preference|winner)` +
		`(?:\s*\([^()\n]*\))?(?:\s*(?::|=>|->|=|→)[ ]*|[ ]+[-–—][ ]+)`)
	labelSays = regexp.MustCompile(`(?i)^(?:(?:the|this|that|my|your)\s+)?(?:(?:final|overall|given|proposed|model's|assistant's|student's)\s+)*` +
		`(?:answer|solution|response|completion|verdict|label|judge?ment|classification|statement|result|it|this|that)\s+is\s+(?:an?\s+)?([^\n]*)$`)
	clauseEnd = regexp.MustCompile(`[.;!,(]|\s[-–—]\s|\s(?:because|since|as|but)\s`)
	opening   = regexp.MustCompile(`^([^.;!\n]+?)(?:[.;!]|\s+[-–—]\s)`)
)

// labelClaims reads prose: a label alone on the first or last line, after a word
// that says it is the verdict, as what a sentence says of the answer, or at the
// very beginning. A label that merely occurs means nothing: "the first step is
// correct", "not correct".
func (r *Rubric) labelClaims(text string) (found []claim) {
	text = undressed(text)
	lines := outerLines(text)
	for _, line := range lines {
		if m := labelSays.FindStringSubmatch(line); m != nil {
			line = m[1]
		}
		if l, ok := r.label(line); ok {
			found = append(found, claim{label: &l})
		}
	}
	for _, at := range labelWord.FindAllStringSubmatchIndex(text, -1) {
		clause, _, _ := strings.Cut(strings.TrimLeft(text[at[1]:min(len(text), at[1]+longestLabel+1)], " \n"), "\n")
		if c, ok := r.marked(text[at[4]:at[5]], clause); ok {
			if at[2] >= 0 {
				c.rank = final
			}
			found = append(found, c)
		}
	}
	if len(found) == 0 && len(lines) > 0 {
		return r.openingClaim(text, lines[0])
	}
	return found
}

// marked reads what follows a word such as "verdict:". After a word that can be
// of nothing else than the verdict, what is no label is a fault; an "answer:"
// may be the row's.
func (r *Rubric) marked(word, clause string) (claim, bool) {
	if l, ok := r.label(clause); ok {
		return claim{label: &l}, true
	}
	if at := clauseEnd.FindStringIndex(clause); at != nil {
		if l, ok := r.label(clause[:at[0]]); ok {
			return claim{label: &l}, true
		}
	}
	switch strings.ToLower(word) {
	case "label", "verdict", "judgment", "judgement", "classification", "decision":
		return claim{fault: quotedShort(clause) + " is none of the labels"}, true
	}
	return claim{}, false
}

// openingClaim reads "Correct. The result is the same.": a label that is a
// sentence at the beginning, where no other label is mentioned behind it.
func (r *Rubric) openingClaim(text, line string) []claim {
	m := opening.FindStringSubmatch(line)
	if m == nil {
		return nil
	}
	l, ok := r.label(m[1])
	if !ok {
		return nil
	}
	words := " " + plainLabel(text) + " "
	for i, plain := range r.plain {
		// A label of one letter is a word of the language too.
		if other := r.Verdict.Labels[i]; other != l && len(plain) > 1 && strings.Contains(words, " "+plain+" ") {
			return []claim{{fault: "it begins with " + l + " and speaks of " + other}}
		}
	}
	return []claim{{label: &l}}
}

// quotedShort is a piece of an answer for a reason.
func quotedShort(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s[:min(longestLabel, len(s))], "")), " ")
	if runes := []rune(s); len(runes) > 40 {
		s = string(runes[:39]) + "…"
	}
	return `"` + s + `"`
}

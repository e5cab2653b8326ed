package judge

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// scoreOf reads a score that is a value in JSON.
func (r *Rubric) scoreOf(v gjson.Result) claim {
	switch v.Type {
	case gjson.Number:
		f, fault := r.value(v.Raw)
		if strings.ContainsAny(v.Raw, "eE") {
			f, fault = v.Num, ""
		}
		if fault != "" {
			return claim{fault: fault}
		}
		return r.onScale(f)
	case gjson.String:
		if c, ok := r.sole(strings.TrimSpace(undressed(v.Str))); ok {
			return c
		}
	}
	return claim{fault: r.Verdict.Field + " is no number"}
}

// sole reads a text that is a score and nothing else.
func (r *Rubric) sole(text string) (claim, bool) {
	c, rest, ok := r.leading(text)
	if !ok || c.fault == "" && strings.Trim(rest, " .!") != "" {
		return claim{}, false
	}
	return c, true
}

var (
	scoreWord = regexp.MustCompile(`(?i)(?:^|[^\pL\pN])((?:final|overall|total)\s+)?(?:([\pL]+)\s+)?(?:score|rating|grade|verdict|mark)(?:\s*\([^()\n]*\))?` +
		`(?:\s*(?::|=>|->|=|→)\s*|\s+[-–—]\s+|\s+(?:is|of|as|would be|will be|should be)\s+(?:an?\s+)?)`)
	scoreVerb = regexp.MustCompile(`(?i)(?:^|[^\pL\pN])(?:score|rate|grade|give|assign|award)\s+(?:(?:this|that|the)\s+(?:answer|response|completion|statement|one|assistant|text|solution)|it|this|that)` +
		`\s+(?:as\s+|at\s+)?(?:an?\s+)?(?:(?:score|rating|grade)\s+of\s+)?`)
)

// scoreClaims reads prose: a number after a word that says it is the score, or
// alone on the first or last line. Other numbers mean other things.
func (r *Rubric) scoreClaims(text string) (found []claim) {
	text = r.withoutScale(undressed(text))
	for _, line := range outerLines(text) {
		if c, ok := r.sole(line); ok {
			found = append(found, c)
		}
	}
	for _, marker := range []*regexp.Regexp{scoreWord, scoreVerb} {
		for _, at := range marker.FindAllStringSubmatchIndex(text, -1) {
			c, _, ok := r.leading(strings.TrimLeft(text[at[1]:], " "))
			if !ok {
				continue
			}
			c.rank = r.rankOf(text, at)
			found = append(found, c)
		}
	}
	return found
}

// rankOf is the rank of a match of scoreWord, which may hold a word of finality
// and one of what the score is of.
func (r *Rubric) rankOf(text string, at []int) int {
	switch {
	case len(at) < 6, at[4] < 0:
	case !ofAll(text[at[4]:at[5]]) && !strings.EqualFold(text[at[4]:at[5]], r.Name):
		return partial
	}
	if len(at) >= 4 && at[2] >= 0 {
		return final
	}
	return plain
}

// ofAll says whether a word before "score" leaves it the score of everything.
func ofAll(word string) bool {
	switch strings.ToLower(word) {
	case "a", "the", "my", "this", "that", "your", "its", "single", "numeric", "numerical", "and", "so", "therefore", "thus", "hence", "is", "as", "with", "final", "overall", "total":
		return true
	}
	return false
}

// withoutScale leaves out where the answer repeats the scale, "(0-100)".
func (r *Rubric) withoutScale(text string) string {
	if r.scale == nil {
		return text
	}
	return r.scale.ReplaceAllString(text, " ")
}

// scalePattern finds a rubric's own scale in an answer.
func scalePattern(v Verdict) *regexp.Regexp {
	low, high := regexp.QuoteMeta(number(v.Min)), regexp.QuoteMeta(number(v.Max))
	return regexp.MustCompile(`(?i)(?:\((?:on a scale (?:of|from)\s+)?` + low + `\s*(?:-|–|—|to|\.\.)\s*` + high + `\)` +
		`|\bon (?:a|the) scale (?:of|from)\s+` + low + `\s*(?:-|–|—|to)\s*` + high + `\b,?)`)
}

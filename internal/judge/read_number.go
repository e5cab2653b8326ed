package judge

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// number is a score as people write it.
func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// numeral finds a number at the beginning of a text, with all its points and
// commas.
var numeral = regexp.MustCompile(`^[+-]?(?:\d+(?:[.,]\d+)*|\.\d+)`)

// leading reads the score that a text begins with, up to what belongs to it
// (/100, %, points). ok is false where it begins with no number.
func (r *Rubric) leading(text string) (c claim, rest string, ok bool) {
	spelled := numeral.FindString(text)
	if spelled == "" {
		return c, text, false
	}
	v, fault := r.value(spelled)
	if fault == "" {
		rest, fault = r.unit(text[len(spelled):])
	}
	if fault == "" {
		c = r.onScale(v)
	} else {
		c.fault = fault
	}
	return c, rest, true
}

// value is what a numeral means. A comma is a decimal one where it can be
// nothing else: in 70,80 it may part two scores, in 85,000 thousands.
func (r *Rubric) value(spelled string) (float64, string) {
	whole, part, comma := strings.Cut(spelled, ",")
	if comma {
		second, err := strconv.ParseFloat(part, 64)
		alone := err == nil && second >= r.Verdict.Min && second <= r.Verdict.Max
		leads := strings.HasPrefix(part, "0") || strings.TrimLeft(whole, "+-0") == ""
		switch {
		case strings.ContainsAny(part, ".,") || strings.Contains(whole, "."),
			len(part) == 3 && strings.TrimLeft(whole, "+-0") != "",
			len(part) > 1 && alone && !leads:
			return 0, spelled + " can be read in more than one way"
		}
		spelled = whole + "." + part
	}
	v, err := strconv.ParseFloat(spelled, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, spelled + " is no number"
	}
	return v, ""
}

var (
	overTen  = regexp.MustCompile(`^ *(?:/|out of) *(\d+(?:\.\d+)?)\b`)
	percent  = regexp.MustCompile(`^ *(?:%|percent\b|per cent\b)`)
	points   = regexp.MustCompile(`(?i)^ *(?:points?|pts\.?)(\s|$|[.,;!)])`)
	another  = regexp.MustCompile(`(?i)^ *(?:-|–|—|\.\.+|…|~|/|,|;|&|\bto\b|\bor\b|\band\b|\bout of\b|±|\+/-|\+-) *[+-]?\.?\d`)
	attached = regexp.MustCompile(`^[\pL\pN_.°^²³]`)
	fullStop = regexp.MustCompile(`^\.(?:\s|$)`)
)

// unit reads what follows a number and says what it is a number of. Another
// scale than the rubric's, or a second number, is a fault.
func (r *Rubric) unit(text string) (rest, fault string) {
	if m := overTen.FindStringSubmatch(text); m != nil {
		if of, err := strconv.ParseFloat(m[1], 64); err != nil || of != r.Verdict.Max {
			return "", "the score is out of " + m[1] + ", the scale ends at " + number(r.Verdict.Max)
		}
		text = text[len(m[0]):]
	} else if m := percent.FindString(text); m != "" {
		if r.Verdict.Min != 0 || r.Verdict.Max != 100 {
			return "", "the score is a percentage, the scale is " + r.scaleText()
		}
		text = text[len(m):]
	}
	if at := points.FindStringSubmatchIndex(text); at != nil {
		text = text[at[2]:] // from what follows the word
	}
	switch {
	case another.MatchString(text):
		return "", "two numbers, or a range of them"
	case attached.MatchString(text) && !fullStop.MatchString(text):
		return "", "the number goes on in what is none"
	}
	return text, ""
}

// onScale is the claim of a value: never moved to an end of the scale.
func (r *Rubric) onScale(v float64) claim {
	v += 0 // no -0
	if v < r.Verdict.Min || v > r.Verdict.Max {
		return claim{fault: number(v) + " is not on the scale, " + r.scaleText()}
	}
	return claim{score: &v}
}

// ranged says that verdicts are scores.
func (r *Rubric) ranged() bool { return r.Verdict.Min != r.Verdict.Max }

func (r *Rubric) scaleText() string { return number(r.Verdict.Min) + " to " + number(r.Verdict.Max) }

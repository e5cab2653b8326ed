package judge

import (
	"regexp"
	"strings"
	"unicode"
)

// undressed is a text without the dress that verdicts come in: full-width forms
// and other scripts' digits become ASCII, Markdown and quotes become blanks,
// <score>85</score> becomes "score: 85" on a line of its own.
func undressed(text string) string {
	text = strings.Map(plainRune, text)
	text = fence.ReplaceAllString(text, "\n")
	text = openTag.ReplaceAllString(text, "\n$1: ")
	text = closeTag.ReplaceAllString(text, "\n")
	text = bracketed.ReplaceAllString(text, " $1 ")
	return heading.ReplaceAllString(text, "")
}

var (
	fence     = regexp.MustCompile("(?m)^[ \t]*```[A-Za-z]*[ \t]*$")
	openTag   = regexp.MustCompile(`<([A-Za-z][A-Za-z_-]*)>`)
	closeTag  = regexp.MustCompile(`</[A-Za-z][A-Za-z_-]*>`)
	bracketed = regexp.MustCompile(`\[+\s*([^\[\],]*?)\s*\]+`) // [[85]], and no [70, 80]
	heading   = regexp.MustCompile(`(?m)^[ \t]*#+[ \t]+`)
)

// plainRune is the ASCII that a reader sees in r.
func plainRune(r rune) rune {
	switch {
	case r < 0x80:
		switch r {
		case '*', '_', '"', '\r', '\t':
			return ' '
		}
		return r
	case r >= 0xFF01 && r <= 0xFF5E: // full-width forms
		return plainRune(r - 0xFEE0)
	case unicode.Is(unicode.Nd, r):
		return digit(r)
	}
	switch r {
	case '−', '﹣': // minus
		return '-'
	case '’':
		return '\''
	case '“', '”', '«', '»', '„':
		return ' '
	case '\u2028', '\u2029', '\u0085':
		return '\n'
	}
	if unicode.Is(unicode.Zs, r) || r == '\u200b' || r == '\ufeff' {
		return ' '
	}
	return r
}

// digit is a decimal digit of any script; they come in tens of code points.
func digit(r rune) rune {
	for _, block := range unicode.Nd.R16 {
		if uint16(r) >= block.Lo && r <= rune(block.Hi) {
			return '0' + (r-rune(block.Lo))%10
		}
	}
	for _, block := range unicode.Nd.R32 {
		if uint32(r) >= block.Lo && uint32(r) <= block.Hi {
			return '0' + (r-rune(block.Lo))%10
		}
	}
	return r
}

// outerLines are the first and the last line of a text that say anything.
func outerLines(text string) []string {
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.Trim(line, " `"); line != "" {
			lines = append(lines, line)
		}
	}
	if len(lines) < 2 {
		return lines
	}
	return []string{lines[0], lines[len(lines)-1]}
}

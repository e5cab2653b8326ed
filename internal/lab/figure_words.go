package lab

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla/internal/plot"
)

var (
	modelWord    = regexp.MustCompile(`\b(claude-)?(haiku|sonnet|opus|fable|mythos)(-[0-9]+)+\b`)
	durationWord = regexp.MustCompile(`\b([0-9]+h)?[0-9]+m[0-9]+s\b`)
	numberWord   = regexp.MustCompile(`\b[0-9]{4,}\b`)
)

// sentence makes a title of a verdict: models, times and large numbers are
// written as in the rest of a figure.
func sentence(verdict string) string {
	s := modelWord.ReplaceAllStringFunc(strings.TrimSuffix(verdict, "."), modelName)
	s = durationWord.ReplaceAllStringFunc(s, func(d string) string {
		v, err := time.ParseDuration(d)
		if err != nil {
			return d
		}
		return plot.Seconds.Format(v.Seconds())
	})
	return numberWord.ReplaceAllStringFunc(s, func(n string) string {
		v, err := strconv.Atoi(n)
		if err != nil {
			return n
		}
		return group(v)
	})
}

// modelName is a model as people say it: "Haiku 4.5" of claude-haiku-4-5-20251001.
func modelName(id string) string {
	parts := strings.Split(strings.TrimPrefix(id, "claude-"), "-")
	if len(parts) > 1 && len(parts[len(parts)-1]) == len("20251001") {
		parts = parts[:len(parts)-1]
	}
	if parts[0] == "" {
		return id
	}
	name := strings.ToUpper(parts[0][:1]) + parts[0][1:]
	if len(parts) == 1 {
		return name
	}
	return name + " " + strings.Join(parts[1:], ".")
}

// limitName is a limit in words.
func limitName(limit string) string {
	if s, ok := limitWords[limit]; ok {
		return s
	}
	return limit
}

var limitWords = map[string]string{
	"rpm": "requests a minute", "itpm": "input tokens a minute", "otpm": "output tokens a minute", "tpd": "tokens a day",
	"cap": "the etiquette cap", "concurrency": "calls at once", "spend": "the spend cap",
}

// listed joins names as people do.
func listed(names []string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// intOf is the number that a text begins with; 0: none.
func intOf(s string) int {
	end := strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(s)
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		return 0
	}
	return n
}

package wire

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// refine reads what only the text tells.
func (r *Refusal) refine(status int) {
	text := strings.ToLower(r.Message)
	switch r.Class {
	case Invalid, Permission:
		r.account(status, text)
	case RateLimited:
		r.rateLimit(text)
	case Acceleration:
		r.named(text)
		r.ceilings(text)
	}
	if r.Class == Spend {
		r.ReopensAt = reopensAt(r.Message)
	}
}

// account tells account-level 400s, a key's missing model and a 404's model
// from a request's own fault (facts/claude-api.md 1.3, 2.4).
func (r *Refusal) account(status int, text string) {
	switch {
	case strings.Contains(text, "credit balance is too low"):
		r.Class = Credit
	case isSpendText(text):
		r.Class = Spend
	case (status == http.StatusNotFound || r.Type == "not_found_error") && namesModel(text):
		r.Class = NoModel
	case r.Type == "permission_error" && r.Code == "" && namesModel(text):
		r.Class = NoModel
	}
}

// isSpendText knows the three spend-limit sentences of facts/claude-api.md 2.4.
func isSpendText(text string) bool {
	return strings.Contains(text, "api usage limits") && strings.Contains(text, "you have reached")
}

// namesModel says that a text is about a model: "model: claude-x", "the model
// `claude-x` does not exist".
func namesModel(text string) bool {
	return strings.Contains(text, "model:") || strings.Contains(text, " model") || strings.Contains(text, "claude-")
}

// rateLimit tells the kinds of a 429 apart (facts/control.md 0 and B.6).
func (r *Refusal) rateLimit(text string) {
	r.named(text)
	switch {
	case isSpendText(text):
		r.Class = Spend
	case strings.Contains(text, "usage increase rate"), strings.Contains(text, "acceleration limit"):
		r.Class = Acceleration
		r.ceilings(text)
	case strings.Contains(text, "concurrent connection"), strings.Contains(text, "concurrent request"):
		r.Class = Concurrency
	case strings.Contains(text, "daily"), strings.Contains(text, "per day"), strings.Contains(text, "per-day"):
		r.Class = Daily
	case isQueueText(text):
		r.Class = QueueFull
	case strings.Contains(text, "rate limit of 0 "): // fast mode, or a model, without any quota
		r.Class = NoModel
	case r.RetryAfter > dailyWait:
		r.Class = Daily
	}
}

// isQueueText knows the words of the batch queue's limit, "batch requests in
// processing queue" as the table of limits has it (facts/claude-api.md 3.2; the
// text of the 429 is nowhere recorded). With "per minute" it is the rate of
// calls that is meant, which refills.
func isQueueText(text string) bool {
	return strings.Contains(text, "processing queue") || strings.Contains(text, "batch queue") ||
		strings.Contains(text, "batch requests") && !strings.Contains(text, "per minute")
}

// named finds the limit that a text names: "rate limit of 30,000 input tokens
// per minute", "number of request tokens has exceeded". Longer names first.
func (r *Refusal) named(text string) {
	for _, n := range [...]struct {
		words string
		dim   Dim
	}{
		{"input token", Input},
		{"output token", Output},
		{"request tokens", Input},
		{"prompt tokens", Input},
		{"tokens per", Tokens},
		{"number of tokens", Tokens},
		{"requests per", Requests},
		{"number of requests", Requests},
	} {
		if strings.Contains(text, n.words) {
			r.Dim = n.dim
			return
		}
	}
}

// ceilings reads "your current limit is 58,276 input tokens per minute, and
// will increase to 68,276 at the next minute boundary".
func (r *Refusal) ceilings(text string) {
	_, rest, ok := strings.Cut(text, "current limit is ")
	if !ok {
		return
	}
	now, ok := groupedNumber(rest)
	if !ok {
		return
	}
	r.CeilingNow = now
	if _, rest, ok = strings.Cut(rest, "increase to "); ok {
		r.CeilingNext, _ = groupedNumber(rest)
	}
}

// groupedNumber reads digits, with commas between groups, at the start of s.
func groupedNumber(s string) (float64, bool) {
	end := 0
	for end < len(s) && (isDigit(s[end]) || s[end] == ',') {
		end++
	}
	n, err := strconv.ParseFloat(strings.ReplaceAll(s[:end], ",", ""), 64)
	return n, err == nil
}

// reopensAt reads "regain access on 2026-12-01 at 00:00 UTC". A text without
// an hour means midnight, one without the sentence gives the zero Time.
func reopensAt(text string) time.Time {
	_, rest, ok := strings.Cut(text, "regain access on ")
	if !ok || len(rest) < len(time.DateOnly) {
		return time.Time{}
	}
	const withHour = "2006-01-02 at 15:04 UTC"
	if len(rest) >= len(withHour) {
		if t, err := time.Parse(withHour, rest[:len(withHour)]); err == nil {
			return t
		}
	}
	t, err := time.Parse(time.DateOnly, rest[:len(time.DateOnly)])
	if err != nil {
		return time.Time{}
	}
	return t
}

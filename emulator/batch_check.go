package emulator

import (
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// longOutputBeta lets batches, and nothing else, ask for longOutput tokens of
// some models (facts/claude-api.md 4.3).
const (
	longOutputBeta = "output-300k-2026-03-24"
	longOutput     = 300 * kilo
)

// unbatched are fields that a row of a batch may not have
// (facts/claude-api.md 4.3); the texts but that of "stream" are a guess.
var unbatched = map[string]bool{
	"speed": true, "store": true, "previous_thread_event_id": true,
	"cache_hint": true, "context_hint": true, "research_preview_2026_02": true,
}

// refusedInBatch says whether a field, with the value it has, is one of them.
func refusedInBatch(name string, v gjson.Result) bool {
	return unbatched[name] && v.Type != gjson.Null && (name != "research_preview_2026_02" || v.Str == "active")
}

// checkBatch is check for a row of a batch.
func (r *request) checkBatch(now time.Time, version string, betas []string) *apiError {
	switch {
	case r.stream:
		return invalid(`"stream=True" is not supported in the Message Batches API`)
	case r.unbatched != "":
		return invalid("%q is not supported in the Message Batches API", r.unbatched)
	}
	r.longOut = listed(betas, longOutputBeta)
	if e := r.check(now, version, len(betas) > 0, false); e != nil {
		return e
	}
	if r.maxTokens < 1 {
		return invalid("max_tokens: Input should be greater than or equal to 1")
	}
	return r.checkWindow(r.estimate())
}

// listed says whether the values of a header, lists with commas, name one.
func listed(values []string, name string) bool {
	for _, v := range values {
		if slices.ContainsFunc(strings.Split(v, ","), func(s string) bool { return strings.TrimSpace(s) == name }) {
			return true
		}
	}
	return false
}

// mostOutput is the longest answer that the model gives to this request.
func (r *request) mostOutput() int64 {
	if r.longOut && r.entry.longOut {
		return longOutput
	}
	return r.entry.maxOut
}

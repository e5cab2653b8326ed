package price

import (
	"strings"
	"time"
)

// Model is one row of the table.
type Model struct {
	ID      string   // what the API echoes; dated below version 4.6
	Aliases []string // names that the API resolves to ID
	Pool    string   // rate-limit group its org's models share: "sonnet-4.x"
	Status  Status   // as the provider stated it on the table's day

	Released time.Time // zero: not recorded
	Retires  time.Time // zero: no date known
	Promised bool      // Retires is "not before", not an announced end

	Context      int64 // tokens of the context window; 0: unknown
	MaxOutput    int64 // largest max_tokens; 0: unknown
	MinCacheable int64 // shortest prompt a cache takes, in tokens; 0: unknown

	Prices
	LongOver int64  // prompts over so many tokens, cache included, pay Long; 0: none
	Long     Prices // prices of the whole request then

	Rules
}

// Rules are the parameters a model treats differently (facts/claude-api.md
// 1.1 and 7). Each refusal is a 400.
type Rules struct {
	Geo             bool // takes inference_geo; "us" costs 1.1 times (4.6 and later)
	Fast            bool // has a fast mode at twice the price
	NewTokenizer    bool // about 1.3 times the tokens for the same text (Opus 4.7 and later)
	RefusesPrefill  bool // an assistant message last (4.6 and later)
	RefusesSampling bool // temperature other than 1, top_p under 0.99, any top_k (4.7 and later); under anthropic-version 2026-10-21 every model refuses all three
	RefusesEnabled  bool // thinking.type "enabled" (4.7 and later)
	RefusesForced   bool // tool_choice "any" or "tool"
}

// Status is what the provider said of a model.
type Status uint8

// Statuses.
const (
	Active     Status = iota
	Limited           // active for chosen organisations only
	Deprecated        // works, has an end
	Retired           // requests are answered 404
)

var statusNames = [...]string{"active", "limited", "deprecated", "retired"}

func (s Status) String() string { return statusNames[s] }

// Lifecycle is a model's standing at one moment: the stated status, moved on
// by an announced retirement day that has come (00:00 UTC). A promise ("not
// before") never retires a model.
func (m Model) Lifecycle(now time.Time) Status {
	announced := !m.Retires.IsZero() && !m.Promised
	switch {
	case m.Status == Retired, announced && !now.Before(m.Retires):
		return Retired
	case announced:
		return Deprecated
	}
	return m.Status
}

// families in the order in which a name is searched for them.
var families = [...]string{"sonnet", "haiku", "opus", "fable", "mythos"}

// Family is sonnet, haiku, opus, fable or mythos: the word that concurrency
// caps are set by. A name with none of them is its own family, "other".
func (m Model) Family() string { return FamilyOf(m.ID) }

// FamilyOf is [Model.Family] for a name the table need not hold.
func FamilyOf(model string) string {
	for _, f := range families {
		if strings.Contains(model, f) {
			return f
		}
	}
	return "other"
}

// Priced says whether prices are known.
func (m Model) Priced() bool { return m.Prices != (Prices{}) }

// TokenFactor is how many tokens the model's tokenizer makes of a text for
// each one that the older tokenizer makes (facts/claude-api.md 1.6).
func (m Model) TokenFactor() float64 {
	if m.NewTokenizer {
		return 1.3
	}
	return 1
}

// WithPrices is the model at other prices, for every prompt length.
func (m Model) WithPrices(p Prices) Model {
	m.Prices, m.LongOver, m.Long = p, 0, Prices{}
	return m
}

// Unlisted is a model that the table does not hold, at prices given by hand.
// Its pool is its own name; what raises an estimate is assumed.
func Unlisted(id string, p Prices) Model {
	return Model{ID: id, Pool: id, Prices: p, Rules: Rules{Geo: true, Fast: true, NewTokenizer: true}}
}

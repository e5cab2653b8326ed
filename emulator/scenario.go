package emulator

import (
	"strconv"
	"time"
)

// Scenario is a world: its orgs, their limits, how fast it answers and what
// goes wrong in it. The zero value of every field means "none of that", so
// that a small world is a short literal; [Named] gives the worlds of the
// command, and [Load] reads one from YAML.
type Scenario struct {
	// Name marks every response: "flotilla-emulated: <name>/<seed>".
	Name string `yaml:"name"`
	// Base names the scenario that a file builds upon; only [Load] reads it.
	Base string `yaml:"base"`
	Orgs []Org  `yaml:"orgs"`

	// Latency holds for every family of models that Families does not name
	// (families: sonnet, haiku, opus, fable, mythos).
	Latency  Latency            `yaml:"latency"`
	Families map[string]Latency `yaml:"families"`
	// Stragglers slow a share of answers down.
	Stragglers Stragglers `yaml:"stragglers"`
	// LoadKnee divides the token rate by 1 + (n/LoadKnee)², n being the
	// answers in flight of the same org and pool; 0: no such term.
	LoadKnee float64 `yaml:"load_knee"`

	Answer  Answer       `yaml:"answer"`
	Answers []AnswerRule `yaml:"answers"`
	// InputNoise is the standard deviation of the logarithm of true input
	// tokens over the estimate made at admission.
	InputNoise float64 `yaml:"input_noise"`

	Storm Storm `yaml:"storm"`
	Flaky Flaky `yaml:"flaky"`

	Batches Batching `yaml:"batches"`
}

// Org is one organisation.
type Org struct {
	Name string `yaml:"name"` // its keys are sk-ant-emulated-<name> and sk-ant-emulated-<name>-2 …
	// Limits are those of each pool; Pools overrides them by pool name.
	Limits Limits            `yaml:"limits"`
	Pools  map[string]Limits `yaml:"pools"`

	// Capacity is what a bucket holds, as a share of a minute's refill; 0: 1.
	Capacity float64 `yaml:"capacity"`
	// Hidden is the span of an extra request bucket that no header shows: it
	// holds as many requests as refill in that span, at least one. 0: none.
	Hidden time.Duration `yaml:"hidden"`
	// HiddenUnnamed leaves the dimension out of the hidden bucket's refusals.
	HiddenUnnamed bool `yaml:"hidden_unnamed"`
	// ReserveOutput charges max_tokens to the output limit at admission and
	// gives back what was not produced, as older documentation had it.
	ReserveOutput bool `yaml:"reserve_output"`
	// Workspace is a combined limit of input and output tokens a minute that
	// binds beside the org's; its headers are the tokens-* family. 0: none.
	Workspace int64 `yaml:"workspace"`
	// Concurrency is the most answers of one pool in flight; 0: no such limit.
	Concurrency int `yaml:"concurrency"`

	Acceleration Acceleration `yaml:"acceleration"`
	Daily        DailyCap     `yaml:"daily"`
	SpendUSD     float64      `yaml:"spend_usd"` // monthly cap in dollars; 0: none
	Headers      HeaderFaults `yaml:"headers"`
	Colleagues   []Colleague  `yaml:"colleagues"`
	CountRPM     int64        `yaml:"count_rpm"` // count_tokens requests a minute; 0: 4,000

	BatchQueue      int64            `yaml:"batch_queue"` // most rows of batches that wait to be processed, over all models; 0: no such cap
	BatchRPM        int64            `yaml:"batch_rpm"`   // HTTP requests to batch endpoints a minute; 0: no such limit
	BatchColleagues []BatchColleague `yaml:"batch_colleagues"`
}

// Limits are per minute; 0: no such limit, and no header for it.
type Limits struct {
	Requests int64 `yaml:"requests"`
	Input    int64 `yaml:"input"`
	Output   int64 `yaml:"output"`
}

// Latency is how fast answers come: the first token after a lognormal time
// plus the prompt's share, the others at a lognormal rate.
type Latency struct {
	TTFT        time.Duration `yaml:"ttft"`       // median time to the first token; 0: at once
	TTFTSD      float64       `yaml:"ttft_sd"`    // sd of its logarithm
	PerSecond   float64       `yaml:"per_second"` // median output tokens a second; 0: all at once
	PerSecondSD float64       `yaml:"per_second_sd"`
	Prefill     float64       `yaml:"prefill"` // input tokens a second added to the first token's time; 0: no such time
}

// Stragglers stretches the whole latency of a share of answers by a factor
// drawn evenly from Min to Max.
type Stragglers struct {
	Share float64 `yaml:"share"`
	Min   float64 `yaml:"min"`
	Max   float64 `yaml:"max"`
}

// Answer is how long answers are: lognormal output tokens around Median (at
// most 0.6 × max_tokens), cut at max_tokens.
type Answer struct {
	Median float64 `yaml:"median"` // 0: 60
	SD     float64 `yaml:"sd"`     // of the logarithm; 0: no spread
}

// AnswerRule says what is answered to prompts that match. The first rule that
// matches holds; without one the answer is filler words.
type AnswerRule struct {
	// Match is a regular expression (RE2) on the text of the last message, or with
	// First on that of the first one: what a conversation began with.
	Match string `yaml:"match"`
	First bool   `yaml:"first"`
	// Template is the answer: $1 and ${name} are what Match captured, {{int
	// 0 100}} a whole number, {{pick "a" "b"}} one of several, {{words 12}}
	// filler. Empty: filler words of the usual length.
	Template string `yaml:"template"`
	// Tool names a tool that is called, with Template as its input in JSON,
	// where the request has one of that name; elsewhere Template is the text.
	Tool string `yaml:"tool"`
	// Shares of matching answers that the model refuses (stop_reason refusal),
	// that are cut in the middle (max_tokens), that are filler words in place
	// of the template.
	Refuse float64 `yaml:"refuse"`
	Cut    float64 `yaml:"cut"`
	Prose  float64 `yaml:"prose"`
}

// Acceleration limits how fast the use of input tokens may grow.
type Acceleration struct {
	// Kind is "" (none), "additive" (a ceiling per wall-clock minute that rises
	// by Step when at least 0.3 of it was used, and is gone for good once it
	// has reached the limit) or "ratio" (the rate over the last 10 s may not
	// exceed First a minute plus Ratio times the rate over the last 60 s).
	Kind  string  `yaml:"kind"`
	First float64 `yaml:"first"` // as a share of the input limit; 0: 0.1
	Step  int64   `yaml:"step"`  // additive: tokens a minute; 0: 10,000
	Ratio float64 `yaml:"ratio"` // ratio: 0: 1.5
	// Text is what the refusal says: "numbers" (the ceiling now and after the
	// next minute), "words" (that usage rose too fast), "none" (only that a
	// limit was exceeded, without error code). "": numbers for additive, none
	// for ratio.
	Text string `yaml:"text"`
}

// DailyCap is a cap on the tokens of each pool in any 24 hours.
type DailyCap struct {
	Tokens     int64         `yaml:"tokens"`      // input, cache writes and output; 0: none
	RetryAfter time.Duration `yaml:"retry_after"` // what the refusals claim; 0: the truth
	Text       bool          `yaml:"text"`        // the refusals say that the cap is a day's
	Known      bool          `yaml:"known"`       // the Rate Limits API tells tokens_per_day
}

// HeaderFaults is what is wrong with an org's limit headers.
type HeaderFaults struct {
	Missing  bool          `yaml:"missing"`   // none ever
	Drop     float64       `yaml:"drop"`      // share of responses without
	Stale    float64       `yaml:"stale"`     // share that repeats the reading of an earlier response
	Factor   float64       `yaml:"factor"`    // shown over real limit and remainder; 0: 1
	Constant bool          `yaml:"constant"`  // always full
	DateSkew time.Duration `yaml:"date_skew"` // of Date and the resets against the model's time
}

// Colleague is someone else who uses the org.
type Colleague struct {
	// Kind is "poisson" (independent requests), "burst" (Requests at once,
	// spread over Over, each Every) or "aimd" (a plain client: window from 4,
	// 5 % more a round without refusal, half after one).
	Kind string `yaml:"kind"`
	// Pool is the one used; empty: each pool, from our first request to it on.
	Pool string `yaml:"pool"`
	// Share of the input limit that a poisson colleague uses.
	Share float64 `yaml:"share"`
	In    int64   `yaml:"in"`  // input tokens a request; 0: 2,000
	Out   int64   `yaml:"out"` // output tokens a request; 0: 60

	Requests int           `yaml:"requests"` // of a burst; 0: 25
	Over     time.Duration `yaml:"over"`     // 0: 1 s
	Every    time.Duration `yaml:"every"`    // 0: 60 s

	Window int `yaml:"window"` // most in flight of an aimd colleague; 0: 200

	From  time.Duration `yaml:"from"`  // starts then
	Until time.Duration `yaml:"until"` // leaves then; 0: stays
	On    time.Duration `yaml:"on"`    // works this long,
	Off   time.Duration `yaml:"off"`   // then rests this long; 0: never rests
}

// Storm is a repeating overload of the provider: 529 without limit headers.
type Storm struct {
	Start  time.Duration `yaml:"start"`
	Every  time.Duration `yaml:"every"` // 0: once
	Phases []StormPhase  `yaml:"phases"`
	// Streams is the share of streams admitted during a storm that end in an
	// overloaded_error event.
	Streams float64 `yaml:"streams"`
}

// StormPhase refuses a share of requests for a time.
type StormPhase struct {
	For   time.Duration `yaml:"for"`
	Share float64       `yaml:"share"`
}

// Flaky is a bad network between client and provider.
type Flaky struct {
	Before float64 `yaml:"before"` // share reset before the first byte of the answer
	After  float64 `yaml:"after"`  // share reset after it
	Cut    float64 `yaml:"cut"`    // share of streams that end early without a reset
	Reused float64 `yaml:"reused"` // share of requests on a reused connection that is reset before anything is read
}

// defaultCountRPM is the middle tier's count_tokens limit (facts/claude-api.md
// 1.6).
const defaultCountRPM = 4000

func (o *Org) countRPM() int64 {
	if o.CountRPM == 0 {
		return defaultCountRPM
	}
	return o.CountRPM
}

// Uniform is k orgs, org-1 to org-k, with the same limits.
func Uniform(k int, l Limits) []Org {
	orgs := make([]Org, k)
	for i := range orgs {
		orgs[i] = Org{Name: "org-" + strconv.Itoa(i+1), Limits: l}
	}
	return orgs
}

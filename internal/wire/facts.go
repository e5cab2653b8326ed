package wire

import "math"

// Facts is what a Messages body says of itself.
type Facts struct {
	Model     string // as the body spells it; empty: absent
	MaxTokens int64  // negative: absent
	Has       Field  // which of the fields below, and some others, are present
	Stream    bool

	Temperature float64
	TopP        float64
	TopK        int64
	Thinking    string // thinking.type
	ToolChoice  string // tool_choice.type
	Geo         string // inference_geo
	Speed       string
	ServiceTier string

	Messages          int64 // how many
	Prefill           bool  // the last message is the assistant's
	AssistantDocument bool  // a document block directly in an assistant message
	Cache5m, Cache1h  bool  // cache_control of these lives occurs somewhere
	Images, Documents int64 // blocks whose text is not in the body
	Tools             int64
	// Metered names the first tool, or the field, whose use is billed beyond
	// the tokens of this body (server tools run their own turns, add what they
	// fetch to the input, some cost per use); empty: none. Under a cap its
	// worst case is not known.
	Metered string
	// Alone says that no batch may carry the body: see Batchable.
	Alone    bool
	syncOnly string // a field that the batch API does not know; empty: none

	// Shape is equal for bodies that the API checks alike: a hash of the names
	// of the top-level fields, the types of content blocks and thinking.type,
	// without order or number (interface.md, Canary).
	Shape uint64

	text load
}

// Field is a set of top-level fields.
type Field uint32

// Fields.
const (
	HasModel Field = 1 << iota
	HasMaxTokens
	HasMessages
	HasSystem
	HasStream
	HasTemperature
	HasTopP
	HasTopK
	HasThinking
	HasToolChoice
	HasTools
	HasGeo
	HasSpeed
	HasServiceTier
	HasCacheControl // at the top level: automatic caching
)

// Token counts of blocks whose text the body does not hold. Estimates are for
// middling inputs; upper bounds are the provider's published maxima.
const (
	// An image is cut into 28-pixel squares, a token each, after it has been
	// scaled down to at most 2,576 pixels a side: 92 by 52 squares on models
	// from Opus 4.7 on, 1,568 tokens before (vision page, 2026).
	imageTokens, imageMax = 1500, 4784
	// A page of PDF costs 1,500 to 3,000 tokens of text and an image of itself;
	// a request may have 600 pages (PDF page, 2026). The price of the worst
	// case is bounded by the model's context window too.
	documentTokens, documentMax = 10 * 2350, 600 * (3000 + imageMax)
)

// Overheads the API adds around text: the frame of a request and of each
// message, and, with tools, a system prompt of its own (346 tokens for "auto",
// at most 530 as published for older models) and a frame for each tool (up to
// 735 for the built-in ones). The upper bounds leave room for later models.
const (
	baseTokens, baseMax       = 6, 64
	messageTokens, messageMax = 4, 16
	toolsTokens, toolsMax     = 346, 1024
	toolTokens, toolMax       = 30, 1024
)

// In estimates the input tokens: factor is the model's tokenizer against the
// older one (1.3 from Opus 4.7 on), by which text counts.
func (f *Facts) In(factor float64) int64 {
	n := int64(math.Ceil(float64(f.text.units) * factor / unit))
	n += baseTokens + f.Messages*messageTokens + f.Images*imageTokens + f.Documents*documentTokens
	if f.Tools > 0 {
		n += toolsTokens + f.Tools*toolTokens
	}
	return n
}

// InUpper bounds the input tokens from above: a byte of text is at most one
// token in any tokenizer, images and documents at their published maximum. It
// does not hold for a body with Metered tools.
func (f *Facts) InUpper() int64 {
	n := f.text.bytes + baseMax + f.Messages*messageMax + f.Images*imageMax + f.Documents*documentMax
	if f.Tools > 0 {
		n += toolsMax + f.Tools*toolMax
	}
	return n
}

// Missing names the first required field that the body lacks, as the API
// would; empty: none.
func (f *Facts) Missing() string {
	switch {
	case f.Has&HasModel == 0:
		return "model"
	case f.Has&HasMaxTokens == 0:
		return "max_tokens"
	case f.Has&HasMessages == 0:
		return "messages"
	}
	return ""
}

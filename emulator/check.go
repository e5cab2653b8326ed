package emulator

import (
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// The two API versions there are (facts/claude-api.md section 0).
const (
	versionOld = "2023-06-01"
	versionNew = "2026-10-21"
)

// check refuses what the API refuses before it looks at limits, in the order
// fields, model, what model and version do not take. count is for
// count_tokens, which has no max_tokens.
func (r *request) check(now time.Time, version string, beta, count bool) *apiError {
	if e := r.checkFields(beta, count); e != nil {
		return e
	}
	if e := r.find(now); e != nil {
		return e
	}
	for _, f := range []func() *apiError{
		r.checkMessages, r.checkLength, r.checkSampling,
		func() *apiError { return r.checkVersion(version) }, r.checkModel, r.checkMarks,
	} {
		if e := f(); e != nil {
			return e
		}
	}
	return nil
}

func (r *request) checkFields(beta, count bool) *apiError {
	required := []string{"model", "max_tokens", "messages"}
	if count {
		required = []string{"model", "messages"}
	}
	for _, name := range required {
		if !r.field(name).Exists() {
			return invalid("%s: Field required", name)
		}
	}
	if r.unknown != "" && !beta {
		return invalid("%s: Extra inputs are not permitted", r.unknown)
	}
	switch {
	case r.modelField.Type != gjson.String:
		return invalid("model: Input should be a valid string")
	case r.modelField.Str == "":
		return invalid("model: String should have at least 1 character")
	case !r.messages.IsArray():
		return invalid("messages: Input should be a valid array")
	case r.streamField.Exists() && !r.streamField.IsBool():
		return invalid("stream: Input should be a valid boolean")
	case r.system.Exists() && r.system.Type != gjson.String && !r.system.IsArray():
		return invalid("system: Input should be a valid string or array")
	case r.tools.Exists() && !r.tools.IsArray():
		return invalid("tools: Input should be a valid array")
	case r.stops.Exists() && !r.stops.IsArray():
		return invalid("stop_sequences: Input should be a valid array")
	case r.tier.Exists() && r.tier.Str != "auto" && r.tier.Str != "standard_only":
		return invalid("service_tier: Input should be 'auto' or 'standard_only'")
	case r.speed.Exists() && r.speed.Type != gjson.Null && r.speed.Str != "standard" && r.speed.Str != "fast":
		return invalid("speed: Input should be 'standard' or 'fast'")
	case r.geoField.Exists() && r.geoField.Str != "global" && r.geoField.Str != "us":
		return invalid("inference_geo: Input should be 'global' or 'us'")
	}
	return r.checkMax(count)
}

func (r *request) checkMax(count bool) *apiError {
	if count && !r.maxField.Exists() {
		return nil
	}
	if r.maxField.Type != gjson.Number || strings.ContainsAny(r.maxField.Raw, ".eE") {
		return invalid("max_tokens: Input should be a valid integer")
	}
	r.maxTokens = r.maxField.Int()
	if r.maxTokens < 0 {
		return invalid("max_tokens: Input should be greater than or equal to 0")
	}
	return nil
}

// find resolves the model; a retired one answers as one that never was. A model
// whose pool and prices the table no longer has cannot be served at any date.
func (r *request) find(now time.Time) *apiError {
	r.model = r.modelField.Str
	i, ok := ModelIndex(r.model)
	if !ok || catalog[i].pool == "" || catalog[i].lifecycle(now) == "retired" {
		return notFound("model: %s", r.model)
	}
	if catalog[i].limited {
		return &apiError{status: 403, kind: "permission_error", message: "Your organization does not have access to " + r.model + "."}
	}
	r.entry, r.index = &catalog[i], i
	r.fast, r.geo = r.speed.Str == "fast" && r.entry.fast, r.geoField.Str
	return nil
}

func (r *request) checkLength() *apiError {
	if most := r.mostOutput(); r.maxTokens > most {
		return invalid("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s",
			r.maxTokens, most, r.model)
	}
	return nil
}

// checkWindow refuses a prompt that is longer than the model's window; prompt
// and max_tokens together may be longer (facts/claude-api.md 1.3).
func (r *request) checkWindow(tokens int64) *apiError {
	if tokens > r.entry.context {
		return invalid("prompt is too long: %d tokens > %d maximum", tokens, r.entry.context)
	}
	return nil
}

// checkSampling holds temperature and its like to their ranges, and to the
// defaults on models that take nothing else.
func (r *request) checkSampling() *apiError {
	for _, f := range []struct {
		name  string
		value gjson.Result
		least float64 // that models with noSampling tolerate
		max   float64
	}{
		{"temperature", r.temperature, 1, 1},
		{"top_p", r.topP, 0.99, 1},
		{"top_k", r.topK, 1e18, 1e18},
	} {
		switch {
		case !f.value.Exists() || f.value.Type == gjson.Null:
		case f.value.Type != gjson.Number:
			return invalid("%s: Input should be a valid number", f.name)
		case f.value.Num < 0:
			return invalid("%s: Input should be greater than or equal to 0", f.name)
		case f.value.Num > f.max:
			return invalid("%s: Input should be less than or equal to %v", f.name, f.max)
		case r.entry.noSampling && f.value.Num < f.least:
			return invalid("%s: this parameter is not supported by %s", f.name, r.model)
		}
	}
	return nil
}

// checkModel is what single models do not take (facts/claude-api.md 1.1, 7).
func (r *request) checkModel() *apiError {
	e := r.entry
	if e.noManualThinking && r.thinking.Get("type").Str == "enabled" {
		return invalid(`thinking.type: "enabled" is not supported by %s; use "adaptive"`, r.model)
	}
	if t := r.toolChoice.Get("type").Str; e.noForcedTool && (t == "any" || t == "tool") {
		return invalid("tool_choice: forced tool use is not supported by %s", r.model)
	}
	if r.geoField.Exists() && !e.geo {
		return invalid("inference_geo: not supported by %s", r.model)
	}
	if r.speed.Str == "fast" && !e.fast && e.id != "claude-opus-4-6" { // 4.6 is silently standard
		return invalid("speed: fast mode is not supported by %s", r.model)
	}
	return r.checkThinking()
}

// checkMarks looks at cache_control, and keeps the prefixes that it marks.
func (r *request) checkMarks() (e *apiError) {
	if r.marked {
		r.marks, e = r.prefixes()
	}
	return e
}

func (r *request) checkThinking() *apiError {
	if !r.thinking.Exists() || r.thinking.Type == gjson.Null {
		return nil
	}
	switch r.thinking.Get("type").Str {
	case "adaptive", "disabled", "between_tools":
		return nil
	case "enabled":
	default:
		return invalid("thinking.type: Input should be 'adaptive', 'enabled', 'disabled' or 'between_tools'")
	}
	budget := r.thinking.Get("budget_tokens")
	switch {
	case !budget.Exists():
		return invalid("thinking.enabled.budget_tokens: Field required")
	case budget.Int() < 1024:
		return invalid("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
	case r.maxField.Exists() && budget.Int() >= r.maxTokens:
		return invalid("`max_tokens` must be greater than `thinking.budget_tokens`")
	}
	return nil
}

// checkVersion is what version 2026-10-21 changed (facts/claude-api.md 0).
func (r *request) checkVersion(version string) *apiError {
	if version != versionNew {
		return nil
	}
	for _, f := range []struct {
		name  string
		value gjson.Result
	}{{"temperature", r.temperature}, {"top_p", r.topP}, {"top_k", r.topK}} {
		if f.value.Exists() {
			return invalid("%s: Extra inputs are not permitted in API version %s", f.name, versionNew)
		}
	}
	return r.checkVersionBlocks()
}

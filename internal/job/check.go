package job

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// checker refuses bodies that the API is known to refuse, before anything is
// sent (facts/claude-api.md 0, 1.1 and 1.3).
type checker struct {
	prices  *price.Table
	version string // anthropic-version
	capped  bool   // a cap on money is set
	asIs    bool   // what a model or version refuses is the API's to say
}

// versionWithoutSampling is the API version that takes no sampling parameters
// at all, whatever the model (facts/claude-api.md 0).
const versionWithoutSampling = "2026-10-21"

// check reads a body and says what the API would say against it.
func (c *checker) check(body []byte) (wire.Facts, error) {
	f, err := wire.Parse(body)
	if err == nil {
		err = c.against(&f)
	}
	return f, err
}

func (c *checker) against(f *wire.Facts) error {
	if field := f.Missing(); field != "" {
		return missingError(field)
	}
	m, ok := c.prices.Lookup(f.Model)
	if !ok || !m.Priced() {
		return unknownModel(f.Model, c.prices)
	}
	if c.capped && f.Metered != "" {
		return WithHint(fmt.Errorf("%s is billed per use, and how often it will be used is not known beforehand", f.Metered),
			"run it without --max-spend, or take the tool out")
	}
	if c.asIs {
		return nil
	}
	if m.MaxOutput > 0 && f.MaxTokens > m.MaxOutput {
		return fmt.Errorf("max_tokens: %d > %d, the most that %s can write", f.MaxTokens, m.MaxOutput, f.Model)
	}
	return c.rules(f, &m)
}

func missingError(field string) error {
	err := fmt.Errorf("%s is missing", field)
	switch field {
	case "model":
		return WithHint(err, "--model fills it in")
	case "max_tokens":
		return WithHint(err, "--max-tokens fills it in")
	}
	return err
}

// rules are the parameters that a model or version refuses.
func (c *checker) rules(f *wire.Facts, m *price.Model) error {
	newest := c.version == versionWithoutSampling
	switch {
	case f.Has&wire.HasTemperature != 0 && (newest || m.RefusesSampling && f.Temperature != 1):
		return c.sampling("temperature", f.Model, newest)
	case f.Has&wire.HasTopP != 0 && (newest || m.RefusesSampling && f.TopP < 0.99):
		return c.sampling("top_p", f.Model, newest)
	case f.Has&wire.HasTopK != 0 && (newest || m.RefusesSampling):
		return c.sampling("top_k", f.Model, newest)
	case newest && f.AssistantDocument:
		return errors.New("a document block in an assistant message is not accepted under anthropic-version " + c.version)
	case f.Prefill && m.RefusesPrefill:
		return WithHint(fmt.Errorf("the last message is the assistant's: %s takes no prefill", f.Model),
			"ask for the form of the answer in the prompt, or by output_config")
	case f.Thinking == "enabled" && m.RefusesEnabled:
		return WithHint(fmt.Errorf(`thinking.type "enabled" is not accepted by %s`, f.Model), `use "adaptive"`)
	case m.RefusesForced && (f.ToolChoice == "any" || f.ToolChoice == "tool"):
		return fmt.Errorf("tool_choice %q is not accepted by %s: it cannot be forced", f.ToolChoice, f.Model)
	case f.Has&wire.HasGeo != 0 && f.Geo != "" && !m.Geo:
		return fmt.Errorf("inference_geo is not accepted by %s", f.Model)
	}
	return nil
}

func (c *checker) sampling(field, model string, newest bool) error {
	by := model
	if newest {
		by = "anthropic-version " + c.version
	}
	return WithHint(fmt.Errorf("%s is not accepted by %s", field, by),
		"take it out of the rows or of --params; --repeats replaces temperature 0")
}

// lifecycle warns of models that are on their way out or gone: the first
// request decides, since a table may be wrong.
func lifecycle(t *price.Table, models []string, now time.Time) (warnings []string) {
	for _, name := range slices.Compact(slices.Sorted(slices.Values(models))) {
		m, ok := t.Lookup(name)
		if !ok {
			continue
		}
		switch m.Lifecycle(now) {
		case price.Retired:
			warnings = append(warnings, fmt.Sprintf("%s is retired by our table of %s; the first request decides%s", name, t.Date.Format(time.DateOnly), instead(t, m, now)))
		case price.Deprecated:
			text := name + " is deprecated"
			if !m.Retires.IsZero() {
				text += " and retires on " + m.Retires.Format(time.DateOnly)
			}
			warnings = append(warnings, text+instead(t, m, now))
		}
	}
	return warnings
}

// instead names a model of the same pool and price; the model in a request is
// never changed by itself.
func instead(t *price.Table, m price.Model, now time.Time) string {
	if r, ok := t.Replacement(m, now); ok {
		return "; same pool and price: " + r.ID
	}
	return ""
}

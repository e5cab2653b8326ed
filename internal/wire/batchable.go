package wire

// Batchable says whether a batch may carry a body, and where not, which of its
// fields is why: what the batch API refuses, some of it only hours later, as an
// errored row (facts/claude-api.md 4.3). Facts.Alone is the same, negated.
func Batchable(f *Facts) (ok bool, why string) {
	switch {
	case f.Stream:
		return false, "stream"
	case f.Speed != "":
		return false, "speed"
	case f.Has&HasMaxTokens != 0 && f.MaxTokens == 0:
		return false, "max_tokens"
	}
	return f.syncOnly == "", f.syncOnly
}

// alone notes a field that is only known to the sync tier; null counts as
// absent.
func (p *parser) alone(field string) {
	v := p.c.raw()
	if string(v) == "null" || field == "research_preview_2026_02" && string(v) != `"active"` {
		return
	}
	p.f.syncOnly = field
}

package wire

// block is a content block that a stream is building: what its start gave, and
// what deltas added to one or more of its members.
type block struct {
	index  int64
	start  object
	growth []growth
}

// growth is what deltas add to one member of a block.
type growth struct {
	rule *deltaRule
	raw  []byte // strings: their insides joined; lists: elements, with commas between
}

// deltaRule says what a type of delta does: which of its fields it brings, to
// which member of the block, and how pieces become a value.
type deltaRule struct {
	delta, field, member string
	join                 joining
}

type joining uint8

const (
	joinString joining = iota // pieces of a string
	joinJSON                  // pieces of the text of a JSON value, each in a string
	joinList                  // elements of a list
)

// deltaRules are the types of facts/claude-api.md 1.5; others are ignored.
var deltaRules = [...]deltaRule{
	{"text_delta", "text", "text", joinString},
	{"thinking_delta", "thinking", "thinking", joinString},
	{"signature_delta", "signature", "signature", joinString},
	{"input_json_delta", "partial_json", "input", joinJSON},
	{"citations_delta", "citation", "citations", joinList},
}

func ruleOf(delta []byte) *deltaRule {
	for i := range deltaRules {
		if string(delta) == deltaRules[i].delta {
			return &deltaRules[i]
		}
	}
	return nil
}

// grow adds a piece. Strings are joined as they are spelled, escapes and all:
// that keeps the server's spelling, and a surrogate pair cut in two heals.
func (b *block) grow(rule *deltaRule, piece []byte) {
	for i := range b.growth {
		if b.growth[i].rule == rule {
			b.growth[i].add(piece)
			return
		}
	}
	b.growth = append(b.growth, growth{rule: rule})
	b.growth[len(b.growth)-1].add(piece)
}

func (g *growth) add(piece []byte) {
	if g.rule.join == joinList && len(g.raw) > 0 {
		g.raw = append(g.raw, ',')
	}
	g.raw = append(g.raw, piece...)
}

// append writes the block, grown, to dst.
func (b *block) append(dst []byte) []byte {
	o := b.start
	for _, g := range b.growth {
		o = o.set([]byte(g.rule.member), g.value(o.get(g.rule.member)))
	}
	return o.append(dst)
}

// value is what a member becomes that began as start.
func (g *growth) value(start []byte) []byte {
	switch g.rule.join {
	case joinJSON:
		// An input cut short by max_tokens is no JSON; then the start's stands.
		if text := []byte(decode(g.raw)); wellFormed(text) {
			return text
		}
		if start == nil {
			return []byte("{}")
		}
		return start
	case joinList:
		return joinAround('[', ']', start, ",", g.raw)
	}
	return joinAround('"', '"', start, "", g.raw)
}

// joinAround puts more at the end of start, a value between two delimiters;
// another kind of start (null, none) counts as empty.
func joinAround(left, right byte, start []byte, between string, more []byte) []byte {
	v := []byte{left}
	if len(start) > 2 && start[0] == left {
		v = append(v, start[1:len(start)-1]...)
		v = append(v, between...)
	}
	v = append(v, more...)
	return append(v, right)
}

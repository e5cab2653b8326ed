package emulator

import "github.com/tidwall/gjson"

// maxMessages is the most entries of messages (facts/claude-api.md 1.1).
const maxMessages = 100_000

// checkMessages looks at roles and contents.
func (r *request) checkMessages() *apiError {
	n, last := 0, ""
	var bad *apiError
	r.messages.ForEach(func(_, m gjson.Result) bool {
		last = m.Get("role").Str
		bad = checkMessage(n, last, m)
		n++
		return bad == nil
	})
	switch {
	case bad != nil:
		return bad
	case n == 0:
		return invalid("messages: at least one message is required")
	case n > maxMessages:
		return invalid("messages: List should have at most %d items after validation, not %d", maxMessages, n)
	case last == "assistant" && r.entry.noPrefill:
		return invalid("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	return nil
}

func checkMessage(i int, role string, m gjson.Result) *apiError {
	content := m.Get("content")
	switch {
	case !m.IsObject():
		return invalid("messages.%d: Input should be a valid dictionary or object", i)
	case !m.Get("role").Exists():
		return invalid("messages.%d.role: Field required", i)
	case role != "user" && role != "assistant" && role != "system":
		return invalid("messages.%d.role: Input should be 'user', 'assistant' or 'system'", i)
	case !content.Exists():
		return invalid("messages.%d.content: Field required", i)
	case content.Type == gjson.String && content.Str == "" && role == "user",
		content.IsArray() && content.Get("#").Int() == 0 && role == "user":
		return invalid("messages.%d: user messages must have non-empty content", i)
	case content.Type == gjson.String:
		return nil
	case !content.IsArray():
		return invalid("messages.%d.content: Input should be a valid string or array", i)
	}
	return checkBlocks(i, content)
}

func checkBlocks(i int, content gjson.Result) *apiError {
	var bad *apiError
	j := 0
	content.ForEach(func(_, b gjson.Result) bool {
		kind := b.Get("type").Str
		switch {
		case kind == "":
			bad = invalid("messages.%d.content.%d.type: Field required", i, j)
		case kind == "text" && b.Get("text").Type != gjson.String:
			bad = invalid("messages.%d.content.%d.text.text: Field required", i, j)
		case kind == "text" && b.Get("text").Str == "":
			bad = invalid("messages: text content blocks must be non-empty")
		}
		j++
		return bad == nil
	})
	return bad
}

// checkVersionBlocks is the part of version 2026-10-21 inside messages: no
// document directly in an assistant message, no citations on user text.
func (r *request) checkVersionBlocks() *apiError {
	var bad *apiError
	i := 0
	r.messages.ForEach(func(_, m gjson.Result) bool {
		role, j := m.Get("role").Str, 0
		m.Get("content").ForEach(func(_, b gjson.Result) bool {
			kind := b.Get("type").Str
			switch {
			case role == "assistant" && kind == "document":
				bad = invalid("messages.%d.content.%d: document blocks are not permitted in assistant messages", i, j)
			case role == "user" && kind == "text" && b.Get("citations.#").Int() > 0:
				bad = invalid("messages.%d.content.%d.text.citations: Extra inputs are not permitted", i, j)
			}
			j++
			return bad == nil
		})
		i++
		return bad == nil
	})
	return bad
}

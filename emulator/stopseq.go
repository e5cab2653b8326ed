package emulator

import "strings"

// cutAtStop ends an answer where the first stop sequence in it would have
// begun. Filler words are written out for that.
func (w *world) cutAtStop(c composed, stops []string, k key, maxTokens int64) composed {
	words := c.text == ""
	if words {
		if c.out == 0 {
			c.out, c.stop = w.model.sc.length(k, maxTokens)
		}
		c.text = string(appendWords(nil, k, 0, c.out))
	}
	at, seq := firstStop(c.text, stops)
	if at < 0 {
		return c
	}
	tokens := c.out * int64(at) / int64(len(c.text))
	if words {
		tokens = int64(len(strings.Fields(c.text[:at])))
	}
	return composed{text: c.text[:at], out: max(1, tokens), stop: StopSequence, seq: seq}
}

// firstStop finds the earliest of some sequences; -1: there is none.
func firstStop(text string, stops []string) (at int, seq string) {
	at = -1
	for _, s := range stops {
		if i := strings.Index(text, s); i >= 0 && (at < 0 || i < at) {
			at, seq = i, s
		}
	}
	return at, seq
}

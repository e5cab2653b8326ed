package emulator

// vocabulary is filler: 64 words of about a token each.
var vocabulary = [64]string{
	"the", "answer", "is", "that", "each", "step", "adds", "one", "more", "part",
	"to", "what", "we", "know", "and", "then", "it", "follows", "from", "this",
	"rule", "so", "far", "as", "two", "sides", "agree", "on", "a", "plain",
	"case", "with", "small", "numbers", "first", "check", "second", "line", "gives", "same",
	"result", "again", "for", "any", "value", "in", "range", "which", "means", "no",
	"other", "way", "can", "hold", "here", "but", "also", "note", "how", "they",
	"fit", "into", "whole", "set",
}

// appendWords appends words from up to to, of the endless sequence that a key
// fixes: word i is about token i of an answer.
func appendWords(dst []byte, k key, from, to int64) []byte {
	for i := from; i < to; i++ {
		if i > 0 {
			dst = append(dst, ' ')
		}
		bits := k.bits(drawText + purpose(i/10)<<8)
		dst = append(dst, vocabulary[bits>>(6*(i%10))&63]...)
	}
	return dst
}

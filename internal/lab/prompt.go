package lab

import (
	"math/rand/v2"
	"strconv"
)

// prose are words of three letters: with the space after it each is about one
// token, for the provider as for a count of four bytes a token.
var prose = []string{
	"sea", "sun", "oak", "fox", "hen", "ice", "jar", "key", "lap", "map", "net", "owl", "pen", "rug", "sky", "tea",
	"van", "wax", "yak", "zoo", "ant", "bee", "cup", "dog", "elm", "fig", "gum", "hat", "ink", "jet", "kit", "log",
}

// aroundPrompt is about what the words around the filler and the API itself add.
const aroundPrompt = 24

// body is the Messages body of a shot: filler words of about the shape's length
// and, where more than one token may be answered, a plea that is answered until
// max_tokens cuts it.
func (s *Shot) body() []byte {
	rng := rand.New(rand.NewPCG(s.Salt, 0x6c6162))
	b := make([]byte, 0, 4*s.Shape.In+256)
	b = append(b, `{"model":"`...)
	b = append(b, s.Model...)
	b = append(b, `","max_tokens":`...)
	b = strconv.AppendInt(b, s.Shape.MaxTokens, 10)
	b = append(b, `,"messages":[{"role":"user","content":"`...)
	if s.Salt != 0 {
		b = strconv.AppendUint(append(b, "Note "...), s.Salt%1e6, 10)
		b = append(b, ". "...)
	}
	for range max(0, s.Shape.In-aroundPrompt) {
		b = append(b, prose[rng.IntN(len(prose))]...)
		b = append(b, ' ')
	}
	if s.Shape.MaxTokens > 1 {
		b = append(b, "Write these words again and again."...)
	} else {
		b = append(b, "Say ok."...)
	}
	return append(b, `"}]}`...)
}

package job

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// identity is what makes a job this one: provider, version and betas, contents
// of all inputs in order, and what shapes the requests (interface.md, "Flags of
// run"). Flags of route, money, output, resume and --limit are no part of it.
func (x *index) identity() [32]byte {
	s := x.build.shape
	maxTokens := "none"
	if s.MaxTokens != nil {
		maxTokens = strconv.Itoa(*s.MaxTokens)
	}
	parts := []string{"flotilla job 1", s.Provider, s.Version}
	parts = append(parts, "betas")
	parts = append(parts, slices.Compact(slices.Sorted(slices.Values(s.Betas)))...)
	parts = append(parts, "shape", s.Prompt, s.System, s.Model, maxTokens, string(wire.Canonical(nil, []byte(orEmpty(s.Params)))),
		strconv.Itoa(s.Repeats), strconv.FormatBool(s.Dedupe), "ids")
	parts = append(parts, s.IDFields...)
	parts = append(parts, "contents", string(x.digest[:]))
	h := sha256.New()
	var size [8]byte
	for _, p := range parts { // lengths keep the parts apart
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		_, _ = h.Write(size[:])
		_, _ = h.Write([]byte(p))
	}
	return [32]byte(h.Sum(nil))
}

func orEmpty(params string) string {
	if params == "" {
		return "{}"
	}
	return params
}

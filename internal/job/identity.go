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
// Salt tells jobs apart that have all that in common.
func (x *index) identity(salt []byte) [32]byte {
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
	if c := x.build.craft; c != nil {
		parts = append(parts, "craft", string(c.Identity()))
	}
	if len(salt) > 0 {
		parts = append(parts, "salt", string(salt))
	}
	h := sha256.New()
	var size [8]byte
	for _, p := range parts { // lengths keep the parts apart
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		_, _ = h.Write(size[:])
		_, _ = h.Write([]byte(p))
	}
	return [32]byte(h.Sum(nil))
}

// template is the same for jobs whose requests are made alike, whatever they are
// about: prompt, system and params where the job makes bodies of rows, else the
// shapes of the bodies. The model is told apart elsewhere.
func (x *index) template() uint64 {
	s := x.build.shape
	h := sha256.New()
	part := func(p []byte) {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(p))))
		_, _ = h.Write(p)
	}
	part([]byte("flotilla template 1"))
	for _, p := range []string{s.Prompt, s.System, string(wire.Canonical(nil, []byte(orEmpty(s.Params))))} {
		part([]byte(p))
	}
	if c := x.build.craft; c != nil {
		part(c.Identity())
	} else if x.build.prompt == nil {
		shapes := make([]uint64, len(x.kinds))
		for i, k := range x.kinds {
			shapes[i] = k.shape
		}
		slices.Sort(shapes)
		for _, shape := range slices.Compact(shapes) {
			part(binary.BigEndian.AppendUint64(nil, shape))
		}
	}
	return first8([16]byte(h.Sum(nil)))
}

func orEmpty(params string) string {
	if params == "" {
		return "{}"
	}
	return params
}

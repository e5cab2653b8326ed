package wire

import "bytes"

// names is a set of short names, small enough to stay on the stack. Beyond its
// room it overflows into a map.
type names struct {
	n    int
	few  [24][]byte
	more map[string]bool
}

// add takes a name in; dup says that it was there.
func (s *names) add(name []byte) (dup bool) {
	for _, o := range s.few[:s.n] {
		if bytes.Equal(o, name) {
			return true
		}
	}
	if s.n < len(s.few) {
		s.few[s.n] = name
		s.n++
		return false
	}
	if s.more == nil {
		s.more = map[string]bool{}
	}
	dup = s.more[string(name)]
	s.more[string(name)] = true
	return dup
}

// addKind takes in the type of a block, where it has one.
func (s *names) addKind(kind []byte) {
	if len(kind) > 0 {
		s.add(kind)
	}
}

// sum is a hash of the set, whatever its order.
func (s *names) sum(salt uint64) (h uint64) {
	for _, n := range s.few[:s.n] {
		h += fnv1a(salt, n)
	}
	for n := range s.more {
		h += fnv1a(salt, []byte(n))
	}
	return h
}

// shape hashes what Facts.Shape is made of. Salts keep a field, a block type
// and a thinking type of one name apart.
func (p *parser) shape() uint64 {
	return p.fields.sum(1) + p.blocks.sum(2) + fnv1a(3, []byte(p.f.Thinking))
}

// fnv1a is the 64-bit FNV-1a hash of s, begun with a salt, and stirred so that
// sums of hashes do not cancel.
func fnv1a(salt uint64, s []byte) uint64 {
	h := uint64(14695981039346656037) ^ salt
	h *= 1099511628211
	for _, c := range s {
		h = (h ^ uint64(c)) * 1099511628211
	}
	h ^= h >> 32
	h *= 0xd6e8feb86659fd93
	return h ^ h>>32
}

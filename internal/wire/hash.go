package wire

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"slices"
	"sync"
)

// Keyer makes the keys under which answers are cached and jobs recognised: a
// hash over provider, anthropic-version, betas and canonical body. It may be
// used by several goroutines.
type Keyer struct {
	head [sha256.Size]byte
	pool sync.Pool // of *digest
}

// digest is a hash and room for its sum, kept between uses.
type digest struct {
	h   hash.Hash
	sum [sha256.Size]byte
}

// NewKeyer makes a Keyer. provider is scheme, host and port of the base URL;
// the order of betas, and doubled ones, make no difference.
func NewKeyer(provider, version string, betas []string) *Keyer {
	sorted := slices.Compact(slices.Sorted(slices.Values(betas)))
	var b []byte
	for _, s := range append([]string{provider, version}, sorted...) {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s))) // lengths keep the parts apart
		b = append(b, s...)
	}
	k := &Keyer{head: sha256.Sum256(b)}
	k.pool.New = func() any { return &digest{h: sha256.New()} }
	return k
}

// Key is the first 16 bytes of the SHA-256 over the Keyer's own parts and a
// canonical body.
func (k *Keyer) Key(canonical []byte) (key [16]byte) {
	d := k.pool.Get().(*digest)
	d.h.Reset()
	d.h.Write(k.head[:])
	d.h.Write(canonical)
	copy(key[:], d.h.Sum(d.sum[:0]))
	k.pool.Put(d)
	return key
}

// BodyHash is the first 16 bytes of the SHA-256 of a canonical body alone.
func BodyHash(canonical []byte) (h [16]byte) {
	sum := sha256.Sum256(canonical)
	copy(h[:], sum[:])
	return h
}

// Hex16 is how a hash is written beside a result: its first 8 bytes, as 16
// hexadecimal digits.
func Hex16(h [16]byte) string { return hex.EncodeToString(h[:8]) }

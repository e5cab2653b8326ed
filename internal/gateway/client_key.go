package gateway

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"
	"unicode/utf8"
)

// keyPrefix begins every client key, so that people and scanners of secrets see
// what it is.
const keyPrefix = "flk_"

const (
	keyLetters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	keyLength  = 40 // letters: 238 bits
)

// NewKey draws a client key. Whoever it is for gets it once: of a key only its
// Hash is kept.
func NewKey() string {
	key := make([]byte, 0, keyLength)
	var draw [64]byte
	for len(key) < keyLength {
		_, _ = rand.Read(draw[:]) // never fails (crypto/rand)
		for _, b := range draw {
			// 248 is four times 62: what lies above would favour the first letters.
			if b < 248 && len(key) < keyLength {
				key = append(key, keyLetters[b%62])
			}
		}
	}
	return keyPrefix + string(key)
}

// HashKey is what is kept of a key. Keys are long and random, so that no salt
// and no slow hash are needed against guessing.
func HashKey(key string) [32]byte { return sha256.Sum256([]byte(key)) }

// sameHash compares in a time that does not depend on what is compared.
func sameHash(a, b *[32]byte) bool { return subtle.ConstantTimeCompare(a[:], b[:]) == 1 }

// CheckName says what is wrong with the name of a client. It stands in metrics,
// logs and tables: 1 to 64 letters, digits, dots, dashes and underscores.
func CheckName(name string) error {
	const allowed = keyLetters + "._-@"
	switch {
	case name == "":
		return fmt.Errorf("the name of a client is empty")
	case name == Local:
		return fmt.Errorf("%q is the name of callers without a key", name)
	case utf8.RuneCountInString(name) > 64 || strings.Trim(name, allowed) != "" || strings.HasPrefix(name, "-"):
		return fmt.Errorf("%q cannot name a client: 1 to 64 letters, digits and . _ - @, the first no dash", name)
	}
	return nil
}

package emulator

import (
	"crypto/sha256"
	"encoding/hex"
)

// OrgID is the id of an org: a UUID made from its name alone, so that it is
// the same in every run.
func OrgID(name string) string {
	h := sha256.Sum256([]byte("emulated org " + name))
	h[6] = h[6]&0x0f | 0x40 // version 4
	h[8] = h[8]&0x3f | 0x80 // variant of RFC 9562
	s := hex.EncodeToString(h[:16])
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// workspaceID is the id of an org's default workspace.
func workspaceID(name string) string { return token("wrkspc_01", stringKey("workspace "+name), 22) }

func stringKey(s string) key {
	h := sha256.Sum256([]byte(s))
	return bodyKey(0, [16]byte(h[:16]), 0)
}

const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"

// token is an opaque id of n letters after a prefix.
func token(prefix string, k key, n int) string {
	b := make([]byte, 0, len(prefix)+n)
	b = append(b, prefix...)
	var bits uint64
	for i := range n {
		if i%10 == 0 {
			bits = k.bits(purpose(1000 + i))
		}
		b = append(b, alphabet[bits%uint64(len(alphabet))])
		bits /= uint64(len(alphabet))
	}
	return string(b)
}

package journal

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The key table finds the rows that a plain search finds, colliding keys included.
func TestKeyTable(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		keys := rapid.SliceOfN(rapid.IntRange(0, 20), 0, 40).Draw(rt, "keys")
		key := func(row int) (hash [16]byte, nth int) {
			binary.LittleEndian.PutUint64(hash[8:], uint64(keys[row]/2)) // the first half collides
			return hash, keys[row] % 2
		}
		table := newKeyTable(len(keys), key)
		for k := range 22 {
			var hash [16]byte
			binary.LittleEndian.PutUint64(hash[8:], uint64(k/2))
			var want []int
			for row := range keys {
				if keys[row] == k {
					want = append(want, row)
				}
			}
			if got := slices.Sorted(table.rows(hash, k%2)); !slices.Equal(got, want) {
				rt.Fatalf("key %d is of rows %v, want %v", k, got, want)
			}
		}
	})
}

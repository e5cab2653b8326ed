package journal

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPackedRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(rapid.IntRange(0, math.MaxUint32)).Draw(t, "rows")
		set := rowSet(rows)
		for _, row := range rows {
			if _, found := slices.BinarySearch(set, uint32(row)); !found {
				t.Fatalf("row %d is not in %v", row, set)
			}
		}
		got, err := unpackRows(packRows(set))
		if err != nil || !slices.Equal(got, set) {
			t.Fatalf("%v comes back as %v, %v", set, got, err)
		}
	})
}

// Neighbours, as chunks are cut, take a byte a row.
func TestPackedRowsAreSmall(t *testing.T) {
	rows := make([]uint32, 100_000)
	for i := range rows {
		rows[i] = uint32(141_600 + i)
	}
	if n := len(packRows(rows)); n > len(rows)+10 {
		t.Errorf("%d rows take %d bytes", len(rows), n)
	}
}

func FuzzUnpackRows(f *testing.F) {
	f.Add(packRows([]uint32{0, 1, 5, math.MaxUint32}))
	f.Add([]byte{})
	f.Add([]byte{2, 1, 0})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		rows, err := unpackRows(b)
		if err != nil {
			return
		}
		if !slices.IsSorted(rows) || len(slices.Compact(slices.Clone(rows))) != len(rows) {
			t.Fatalf("%v is no set in order", rows)
		}
		if again, err := unpackRows(packRows(rows)); err != nil || !slices.Equal(again, rows) {
			t.Fatalf("%v, packed anew: %v, %v", rows, again, err)
		}
	})
}

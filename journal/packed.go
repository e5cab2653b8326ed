package journal

import (
	"encoding/binary"
	"errors"
	"slices"
)

var errPacked = errors.New("a packed list of rows is damaged")

// packRows writes a set of rows in rising order, each as its distance from the
// one before: about a byte a row, where a table's row would take thirty.
func packRows(rows []uint32) []byte {
	b := binary.AppendUvarint(nil, uint64(len(rows)))
	last := uint32(0)
	for _, row := range rows {
		b = binary.AppendUvarint(b, uint64(row-last))
		last = row
	}
	return b
}

func unpackRows(b []byte) ([]uint32, error) {
	n, k := binary.Uvarint(b)
	if k <= 0 || n > uint64(len(b)-k) { // a row takes a byte at least
		return nil, errPacked
	}
	b = b[k:]
	rows := make([]uint32, 0, n)
	at := uint64(0)
	for len(b) > 0 {
		d, k := binary.Uvarint(b)
		if at += d; k <= 0 || d > 1<<32 || at >= 1<<32 || d == 0 && len(rows) > 0 {
			return nil, errPacked
		}
		rows, b = append(rows, uint32(at)), b[k:]
	}
	if uint64(len(rows)) != n {
		return nil, errPacked
	}
	return rows, nil
}

// rowSet is rows in rising order, each once.
func rowSet(rows []int) []uint32 {
	set := make([]uint32, len(rows))
	for i, row := range rows {
		set[i] = uint32(row)
	}
	slices.Sort(set)
	return slices.Compact(set)
}

package wire

// The body of a create is BatchHead, one item a row with commas between them,
// BatchTail. Each row's params is its Messages body byte for byte, as sync
// would send it (interface.md, rows).
const (
	BatchHead = `{"requests":[`
	BatchTail = `]}`
)

// Bounds of one create (facts/claude-api.md 4.3). The page says 256 MB without
// saying which; the smaller meaning, in powers of ten, is within both.
const (
	MaxBatchBytes = 256_000_000
	MaxBatchRows  = 100_000
)

const itemHead, itemParams, itemTail = `{"custom_id":"`, `","params":`, `}`

// AppendBatchItem appends one row to a list that is being written: a comma
// before it unless dst ends where BatchHead does, so that an empty dst goes on
// with a list whose beginning has been written elsewhere.
func AppendBatchItem(dst []byte, id RowID, body []byte) []byte {
	if n := len(dst); n == 0 || dst[n-1] != '[' {
		dst = append(dst, ',')
	}
	dst = append(dst, itemHead...)
	dst = AppendRowID(dst, id)
	dst = append(dst, itemParams...)
	dst = append(dst, body...)
	return append(dst, itemTail...)
}

// BatchItemSize is what AppendBatchItem appends for a body of that many bytes,
// its comma included: a create of some rows has the sum of theirs, the head and
// the tail, less the comma that the first lacks.
func BatchItemSize(id RowID, body int) int {
	return len(`,`) + len(itemHead) + rowIDSize(id) + len(itemParams) + body + len(itemTail)
}

// rowIDSize is the length of a custom_id.
func rowIDSize(id RowID) int {
	return len(idMark) + len(id.Job) + len(`--`) + digits(id.Intent, 36) + digits(int64(id.Row), 10)
}

// digits is how many a number that is not negative has.
func digits(n, base int64) int {
	d := 1
	for n >= base {
		n /= base
		d++
	}
	return d
}

package wire

import (
	"strconv"
	"strings"
)

// RowID ties a row of a batch to the row of its job. On the wire it is the
// custom_id "f1-<job>-<intent>-<row>", at most 53 of the 64 characters that the
// API takes (facts/claude-api.md 4.3): results come in arbitrary order, and
// after a crash the ids of a batch found at the provider say whose it is.
type RowID struct {
	Job    string // the job's short name: see ValidJob
	Intent int64  // number of the batch's intent, not negative
	Row    int    // of the job, from 0
}

// idMark says which form an id has: ids of other tools, and of a later form of
// ours, do not begin with it.
const idMark = "f1-"

// maxJob keeps every RowID within the 64 characters of a custom_id.
const maxJob = 16

// ValidJob says whether a name can be a RowID's Job: 1 to 16 characters of a-z
// and 0-9.
func ValidJob(name string) bool {
	if len(name) == 0 || len(name) > maxJob {
		return false
	}
	for i := range len(name) {
		if c := name[i]; !isDigit(c) && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// AppendRowID appends the custom_id. The job's name is taken as it is: it must
// be a ValidJob.
func AppendRowID(dst []byte, id RowID) []byte {
	dst = append(dst, idMark...)
	dst = append(dst, id.Job...)
	dst = append(dst, '-')
	dst = strconv.AppendInt(dst, id.Intent, 36)
	dst = append(dst, '-')
	return strconv.AppendInt(dst, int64(id.Row), 10)
}

// ParseRowID reads what AppendRowID writes, and only that: another spelling of
// a number, such as one with zeros in front, is somebody else's id.
func ParseRowID(s string) (RowID, bool) {
	rest, ours := strings.CutPrefix(s, idMark)
	job, rest, _ := strings.Cut(rest, "-")
	intent, row, _ := strings.Cut(rest, "-")
	if !ours || !ValidJob(job) {
		return RowID{}, false
	}
	n, ok := canonicalInt(intent, 36)
	if !ok {
		return RowID{}, false
	}
	r, ok := canonicalInt(row, 10)
	if !ok || int64(int(r)) != r {
		return RowID{}, false
	}
	return RowID{Job: job, Intent: n, Row: int(r)}, true
}

// canonicalInt reads a number that is not negative in the one spelling that
// AppendInt gives it.
func canonicalInt(s string, base int) (int64, bool) {
	n, err := strconv.ParseInt(s, base, 64)
	var room [20]byte
	return n, err == nil && n >= 0 && string(strconv.AppendInt(room[:0], n, base)) == s
}

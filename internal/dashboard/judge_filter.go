package dashboard

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// verdictFilter chooses verdicts, as readFilter makes it of a request.
type verdictFilter struct {
	judge       int // -1: any
	statuses    [8]bool
	anyStatus   bool
	low, high   float64 // of scores
	below       float64 // scores at it are out
	scored      bool    // low, high or below is set
	label       *string
	group       *string
	truth       *string
	byScore     bool
	largestLast bool
}

// readFilter reads what a request asks for.
func readFilter(r *http.Request) (f verdictFilter, err error) {
	f.judge, err = number(r, "judge", -1, -1, 1<<20)
	f.low, f.high, f.below = math.Inf(-1), math.Inf(1), math.Inf(1)
	for _, end := range []struct {
		name string
		to   *float64
	}{{"low", &f.low}, {"high", &f.high}, {"below", &f.below}} {
		if text := r.FormValue(end.name); text != "" {
			v, e := strconv.ParseFloat(text, 64)
			if e != nil || math.IsNaN(v) {
				err = errors.Join(err, fmt.Errorf("%s is a score, not %q", end.name, text))
			}
			*end.to, f.scored = v, true
		}
	}
	words := strings.FieldsFunc(r.FormValue("status"), func(c rune) bool { return c == ',' || c == ' ' })
	f.anyStatus = len(words) == 0
	for _, word := range words {
		at := 0 // pending
		if word != "pending" {
			if at = slices.Index(statusOrder, word) + 1; at == 0 {
				err = errors.Join(err, fmt.Errorf("there is no status %q", word))
			}
		}
		f.statuses[at] = true
	}
	for name, to := range map[string]**string{"label": &f.label, "group": &f.group, "truth": &f.truth} {
		if r.Form.Has(name) {
			text := r.Form.Get(name)
			*to = &text
		}
	}
	switch order := r.FormValue("order"); order {
	case "":
	case "score", "-score":
		f.byScore, f.largestLast = true, order == "score"
	default:
		err = errors.Join(err, fmt.Errorf("there is no order %q", order))
	}
	return f, err
}

// choose is the set of calls that a filter takes.
func (k *verdictBook) choose(f *verdictFilter) rowSet {
	k.mu.RLock()
	defer k.mu.RUnlock()
	set := newRowSet(len(k.said))
	if k.bench == nil {
		return set
	}
	label, group, truth := k.labels.find(f.label), k.words.find(f.group), k.words.find(f.truth)
	for call := range k.said {
		v := &k.said[call]
		row, ask, _ := k.bench.place(call)
		of, _ := k.bench.seat(ask)
		switch {
		case f.judge >= 0 && of != f.judge,
			!f.anyStatus && !f.statuses[v.status],
			f.scored && !(v.score >= f.low && v.score <= f.high && v.score < f.below), // no score is in no range
			f.label != nil && v.label != label,
			(f.group != nil || f.truth != nil) && row >= len(k.facts),
			f.group != nil && k.facts[row].group != group,
			f.truth != nil && k.facts[row].label != truth:
			continue
		}
		set.add(call)
	}
	return set
}

// find is the number of a text; -2: it has none, or none is looked for.
func (w *wordList) find(text *string) int32 {
	if text != nil {
		if n, ok := w.at[*text]; ok {
			return n
		}
	}
	return -2
}

// order lists calls of a set by score, those without one last, equal ones in the
// order of calls; a page of them.
func (k *verdictBook) order(set rowSet, f *verdictFilter, offset, limit int) []int {
	if !f.byScore {
		return set.page(offset, limit)
	}
	keys := k.sortKeys(set, f.largestLast)
	slices.Sort(keys)
	offset = min(offset, len(keys))
	keys = keys[offset:min(len(keys), offset+limit)]
	calls := make([]int, len(keys))
	for i, key := range keys {
		calls[i] = int(key & math.MaxUint32)
	}
	return calls
}

// sortKeys are the calls of a set as numbers that sort like their scores: the
// score's bits above the call's. Sorting 283,200 of them takes 25 ms, a tenth of
// what it takes by a function.
func (k *verdictBook) sortKeys(set rowSet, up bool) []uint64 {
	all := set.page(0, len(set)*64)
	keys := make([]uint64, len(all))
	k.mu.RLock()
	defer k.mu.RUnlock()
	for i, call := range all {
		keys[i] = uint64(scoreBits(k.said[call].score, up))<<32 | uint64(call)
	}
	return keys
}

// scoreBits sort like scores, or against them; no score is last.
func scoreBits(score float64, up bool) uint32 {
	if math.IsNaN(score) {
		return math.MaxUint32
	}
	bits := math.Float32bits(float32(score))
	if bits>>31 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 31
	}
	if !up {
		bits = ^bits
	}
	return bits
}

package dashboard

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// verdictsJSON is a page of verdicts.
type verdictsJSON struct {
	rowsJSON
	Rows []verdictJSON `json:"rows"`
}

// verdictJSON is a verdict. Its status is pending where there is none yet; row is
// the number of the call, record that of the row over all inputs.
type verdictJSON struct {
	rowJSON
	Record  int      `json:"record"`
	Group   *string  `json:"group"`
	Truth   *string  `json:"truth"` // the row's own label
	Judge   int      `json:"judge"`
	Repeat  int      `json:"repeat"` // from 1; 0: without --repeats
	Swapped bool     `json:"swapped"`
	Score   *float64 `json:"score"`
	Label   *string  `json:"label"`
	Why     *string  `json:"why"` // there is no verdict
}

func (d *Dashboard) serveVerdicts(w http.ResponseWriter, r *http.Request) {
	info, ok := d.find(w, r)
	if !ok {
		return
	}
	offset, err1 := number(r, "offset", 0, 0, 1<<31-1)
	limit, err2 := number(r, "limit", 100, 0, pageMost)
	f, err3 := readFilter(r)
	words := terms(r.FormValue("q"))
	var err4 error
	if len(words) > maxTerms {
		err4 = fmt.Errorf("at most %d words are searched for", maxTerms)
	}
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	v, ok := d.judged(w, r, &info, len(words) > 0)
	if !ok {
		return
	}
	began := time.Now()
	set := v.book.choose(&f)
	out := verdictsJSON{rowsJSON: d.search(v, set, words), Rows: []verdictJSON{}}
	calls := v.book.order(set, &f, offset, limit)
	out.TookMS = float64(time.Since(began).Microseconds()) / 1000
	for _, call := range calls {
		one, err := d.verdict(r.Context(), v, call, words)
		if err != nil {
			writeError(w, http.StatusInternalServerError, err.Error())
			return
		}
		out.Rows = append(out.Rows, one.verdictJSON)
	}
	writeJSON(w, out)
}

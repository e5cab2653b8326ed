package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// writeJSON answers with a value. HTML's signs are escaped in it, so that no
// reader takes it for a page.
func writeJSON(w http.ResponseWriter, v any) {
	var b bytes.Buffer
	if err := json.NewEncoder(&b).Encode(v); err != nil {
		writeError(w, http.StatusInternalServerError, "this cannot be shown: "+err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_, _ = w.Write(b.Bytes())
}

// writeError answers with what went wrong.
func writeError(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": message}})
}

// someTime is a time, or null where it is zero.
func someTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

// some is a number or a text, or null where it is zero.
func some[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// capMoney is a cap in dollars, or null where it is negative: there is none.
func capMoney(m flotilla.Money) *flotilla.Money {
	if m < 0 {
		return nil
	}
	return &m
}

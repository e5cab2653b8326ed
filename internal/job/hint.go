package job

import "errors"

// hinted is an error with a way out that the program may print below it.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint is the way out, without the word "hint".
func (h *hinted) Hint() string { return h.hint }

// WithHint adds a way out to an error, which HintOf finds again.
func WithHint(err error, hint string) error { return &hinted{err, hint} }

// HintOf is the way out that an error of this package knows, or empty.
func HintOf(err error) string {
	var h interface{ Hint() string }
	if errors.As(err, &h) {
		return h.Hint()
	}
	return ""
}

package judge

// hinted is an error with a way out that the program may print below it.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// Hint is the way out, without the word "hint".
func (h *hinted) Hint() string { return h.hint }

func withHint(err error, hint string) error { return &hinted{err, hint} }

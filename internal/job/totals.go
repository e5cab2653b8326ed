package job

import (
	"context"
	"encoding/json"
	"os"
)

// runTotals is what a run leaves in the journal for the next: its summary, the
// last answer that it counts, and the OUT that has just these answers. Another
// OUT of the job may have lines of before a --retry.
type runTotals struct {
	Summary
	LastAnswer int64  `json:"last_answer"`
	Out        string `json:"out"`
	OutBytes   int64  `json:"out_bytes"`
}

// leftBy is what the last run left, where it ended in order and OUT is the one
// that it wrote, at that size; else nil.
func leftBy(ctx context.Context, book Book, o *Output) (*runTotals, error) {
	raw, err := book.Totals(ctx)
	if err != nil || raw == nil {
		return nil, err
	}
	var t runTotals
	if err := json.Unmarshal(raw, &t); err != nil {
		return nil, nil // of another version
	}
	if size, ok := o.size(); !ok || t.Out != absolute(o.Path) || t.OutBytes != size {
		return nil, nil
	}
	return &t, nil
}

// size is how long OUT is; ok is false where it is no file.
func (o *Output) size() (n int64, ok bool) {
	info, err := os.Stat(o.Path)
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}

// totals is what the next run may go by.
func (r *Run) totals(s Summary) (json.RawMessage, error) {
	t := runTotals{Summary: s, LastAnswer: r.lastAnswer(r.w.standing)}
	if size, ok := r.cfg.Output.size(); ok {
		t.Out, t.OutBytes = absolute(r.cfg.Output.Path), size
	}
	return json.Marshal(t)
}

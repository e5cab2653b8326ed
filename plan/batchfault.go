package plan

import "time"

// BatchFault makes calls to the batch endpoints go wrong.
type BatchFault struct {
	From, Until time.Duration // on the model's time line; Until 0: for good
	Call        BatchCall     // the zero value: every kind of call
	Kind        BatchFaultKind
	Skip        int // so many such calls pass before the first that is struck
	Count       int // so many are struck; 0: all
	Every       int // only each so-manyth; 0: each
}

// BatchFaultKind says what goes wrong.
type BatchFaultKind uint8

// Kinds of faults.
const (
	NoFault     BatchFaultKind = iota
	AnswerLost                 // the call is carried out, the connection breaks before the answer
	RequestLost                // the connection breaks after the request was written; nothing was carried out
	ErrorAnswer                // a 5xx that proves nothing; nothing was carried out
	NotFound                   // 404 for a batch that exists (facts/peer-faults.md 9); a create is not struck
)

// fault is a BatchFault with its count of calls.
type fault struct {
	BatchFault
	seen int
}

// strike says what goes wrong with a call that is made now.
func (d *driver) strike(now time.Duration, call BatchCall) BatchFaultKind {
	hit := NoFault
	for i := range d.faults {
		f := &d.faults[i]
		if now < f.From || f.Until > 0 && now >= f.Until || f.Call != AnyCall && f.Call != call {
			continue
		}
		f.seen++
		n := f.seen - f.Skip - 1
		if n < 0 || f.Every > 0 && n%f.Every != 0 || f.Count > 0 && n/max(1, f.Every) >= f.Count {
			continue
		}
		if hit == NoFault {
			hit = f.Kind
		}
	}
	return hit
}

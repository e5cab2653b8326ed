package job

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/flotilla-llm/flotilla"
)

// toldFacts stand in for those of a body where a row brings its outcome with it:
// nothing is sent for it, so it weighs nothing. Its hash is that of no body, so
// that no cache takes it for an answer.
func (s *scan) toldFacts(t *Told, r *record, ask int) flotilla.Facts {
	f := flotilla.Facts{Model: t.Model, Family: t.Model}
	if m, ok := s.check.prices.Lookup(t.Model); ok {
		f.Pool, f.Family = m.Pool, m.Family()
	}
	h := sha256.New()
	for _, part := range []string{"flotilla told 1", t.Model, r.raw} {
		_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		_, _ = h.Write([]byte(part))
	}
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(ask)))
	sum := h.Sum(nil)
	copy(f.Hash[:], sum)
	copy(f.Body[:], sum)
	return f
}

// toldBy is the answer of a call whose row brings its outcome with it.
func (r *Run) toldBy(call int) (Answer, error) {
	var rec record
	if err := r.x.read(call/r.x.repeats, &rec); err != nil {
		return Answer{}, err
	}
	t := r.x.build.told(&rec, r.x.ask(call))
	a := Answer{
		Row: call, Outcome: Succeeded, Body: t.Body, Tier: "sync", Model: t.Model, StopReason: t.StopReason,
		Hash: r.x.row(call).key, When: r.cfg.Now(), Emulated: r.cfg.Emulated,
	}
	if t.StopReason == "" {
		a.Outcome = Errored
	}
	return a, nil
}

// adoptedAs is how a call will stand that has an answer from elsewhere: only what
// a row brings with it may be a failure.
func (r *Run) adoptedAs(call int) Outcome {
	if !r.x.told(call) {
		return Succeeded
	}
	a, err := r.toldBy(call)
	if err != nil {
		return Errored // told once it is settled
	}
	return a.Outcome
}

// settleTold settles calls whose rows bring their outcomes with them.
func (r *Run) settleTold(calls []int) error {
	var records []flotilla.Record
	for i, call := range calls {
		a, err := r.toldBy(call)
		if err != nil {
			return err
		}
		if records = append(records, r.x.record(&a)); len(records) == reuseBatch || i == len(calls)-1 {
			if err := r.append(records); err != nil {
				return err
			}
			records = records[:0]
		}
	}
	return nil
}

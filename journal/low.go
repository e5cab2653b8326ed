package journal

// lowStep is by how many intents the run row's low marks lag at most: they
// only save a reader of a dead run from reading it all.
const lowStep = 4096

func (a *appending) writeLow(b *book) error {
	low := a.at
	for _, sp := range b.spans {
		if sp.live > 0 {
			low = sp.before
			break
		}
	}
	if low.intent-b.low < lowStep {
		return nil
	}
	_, err := a.j.w.exec("UPDATE run SET low_intent = ?, low_attempt = ?, low_outcome = ? WHERE id = ?", low.intent, low.attempt, low.outcome, b.run)
	if err == nil {
		b.low = low.intent
	}
	return err
}

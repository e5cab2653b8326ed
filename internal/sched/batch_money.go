package sched

// hasty says that a sync call of a stream that may batch would spend what the
// rest needs: such a call goes only while what is left of the caps still pays
// the rest by batch, so that a cap never strands rows by haste.
func (c *Core) hasty(s *stream, p *pool, worst int64) (LedgerID, bool) {
	left := s.backlog()
	if left == 0 || !c.takesBatches(s, p) {
		return -1, false
	}
	row := s.batchCost()
	for _, id := range s.Ledgers {
		if int(id) >= len(c.ledgers) {
			continue
		}
		l := &c.ledgers[id]
		if l.limit < 0 {
			continue
		}
		reserved := float64(l.reserved) * s.bat.share()
		if float64(l.limit-l.spent)-reserved-float64(worst) < float64(left)*row {
			return id, true
		}
	}
	return -1, false
}

// batchCost is what one of the stream's rows costs by batch, in nano-dollars:
// as measured, else half of what one costs by sync, else its worst case.
func (s *stream) batchCost() float64 {
	switch {
	case s.bat.cost.n > 0:
		return s.bat.cost.v
	case s.cost.n > 0:
		return s.cost.v / 2
	}
	worst := 0.0
	for _, p := range s.bat.piles {
		worst = max(worst, p.Worst)
	}
	return worst
}

// share is how much of what is reserved will probably be spent.
func (t *streamBatches) share() float64 {
	worst := 0.0
	for _, p := range t.piles {
		worst = max(worst, p.Worst)
	}
	if t.cost.n == 0 || worst <= 0 {
		return 1
	}
	return min(1, t.cost.v/worst)
}

// takesBatches says whether some batch lane of the pool is open to the stream.
func (c *Core) takesBatches(s *stream, p *pool) bool {
	for _, l := range p.batch {
		if on, _, _, _ := l.closed(); !on && !l.paused && !s.denies(l) {
			return true
		}
	}
	return false
}

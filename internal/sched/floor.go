package sched

// floor is a level of a bucket that is left to others (facts/control.md B.4):
// a share of the learned capacity, or a number of tokens.
type floor struct{ share, tokens float64 }

// mostOfBucket is how much of a bucket a floor in tokens may take: above that
// nothing could ever be sent.
const mostOfBucket = 0.9

// of is the level in a bucket of a capacity.
func (f floor) of(capacity float64) float64 {
	if f.tokens > 0 {
		return min(f.tokens, mostOfBucket*capacity)
	}
	return f.share * capacity
}

// floors are both floors of a bucket, and what trickles below the soft one as a
// share of the refill.
type floors struct {
	soft, hard floor
	sigma      float64
}

// floorsOf are the floors of a lane's bucket; mode overrides Config.Share.
func (s *settings) floorsOf(mode *ShareMode, d Dim) floors {
	f := floors{soft: floor{share: share(s.SoftFloor, 0.10)}, hard: floor{share: share(s.HardFloor, 0.02)}, sigma: 0.15}
	if d != Requests {
		f.soft.tokens, f.hard.tokens = s.SoftTokens, s.HardTokens
	}
	if mode == nil {
		mode = &s.Share
	}
	switch *mode {
	case SharePolite:
		f.sigma = 0
	case ShareFair:
		f.sigma, f.hard = 0.5, floor{}
	}
	return f
}

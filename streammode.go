package flotilla

import "time"

// A body whose max_tokens is over streamTokens is taken as a stream: the
// official SDKs refuse to wait for it otherwise, since an idle connection of
// over ten minutes is cut on the way (facts/claude-api.md 2.5, point 7).
const streamTokens = 21_333

// streamLatency is the expected latency above which a stream pays for itself:
// its headers come at the first byte, so the mirror is seconds fresher.
const streamLatency = 3 * time.Second

// wantsStream decides whether an answer is taken as a stream.
func (f *Fleet) wantsStream(facts Facts) bool {
	switch {
	case facts.Stream || facts.MaxTokens > streamTokens:
		return true
	case f.cfg.Stream == StreamOn:
		return true
	case f.cfg.Stream == StreamOff:
		return false
	}
	return f.pools[facts.Pool].latency.expect() > streamLatency
}

// latency is a running mean of what answers of a pool took.
type latency struct {
	mean time.Duration
	n    int
}

// add takes a latency in: a plain mean at first, then the last twenty or so.
func (l *latency) add(d time.Duration) {
	l.n = min(l.n+1, 20)
	l.mean += (d - l.mean) / time.Duration(l.n)
}

// expect is the latency to expect; 0 before the first answer.
func (l *latency) expect() time.Duration { return l.mean }

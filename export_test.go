package flotilla

import "time"

// WithClock gives a fleet a test's clocks.
func WithClock(cfg Config, read func() (wall time.Time, mono time.Duration)) Config {
	cfg.clock = read
	return cfg
}

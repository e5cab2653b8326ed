package emulator

import (
	"fmt"
	"time"
)

// Batching is how the provider works batches off (facts/control.md D; the real
// scheduler is not documented). Each org has a scheduler of its own: a batch
// waits for its overhead, then, in the order of creation, for one of AtOnce
// places, and is then processed at a rate that is its own.
type Batching struct {
	// RowsPerSecond is the mean rate of one batch; 0: 2. The noise does not
	// move the mean.
	RowsPerSecond float64 `yaml:"rows_per_second"`
	// SD is the standard deviation of the logarithm of a batch's rate, an AR(1)
	// process in steps of 10 s; 0: a constant rate.
	SD float64 `yaml:"sd"`
	// Correlation is how long the noise remembers: its autocorrelation falls to
	// 1/e in it. 0: 30 s, with which a batch of 500 takes 3.5 to 6.5 minutes,
	// as control.md D has it.
	Correlation time.Duration `yaml:"correlation"`
	// AtOnce is how many batches of an org are processed at once; 0: 8.
	AtOnce int `yaml:"at_once"`
	// Overhead is the median time before the first row, which takes none of the
	// places; 0: none. OverheadSD is of its logarithm.
	Overhead   time.Duration `yaml:"overhead"`
	OverheadSD float64       `yaml:"overhead_sd"`
	// Expiry is the age at which a batch ends as it is; 0: 24 h.
	Expiry time.Duration `yaml:"expiry"`
	// Cancel is the median time from a cancel to the end (lognormal, sd .2); 0:
	// 25 s (facts/claude-api.md 4.5). Rows go on for the first 5 s of it.
	Cancel time.Duration `yaml:"cancel"`

	// Depth slows all batches of an org while more than Above of its rows wait
	// to be processed; Size slows each batch of more than Above rows. A batch
	// whose size lets it not proceed at all takes no place.
	Depth Slowdown `yaml:"depth"`
	Size  Slowdown `yaml:"size"`
	// Hours slows all batches from one hour of the day to another, in UTC.
	Hours SlowHours `yaml:"hours"`

	// Errored is the share of rows that come back as an overloaded_error or an
	// api_error, which may be sent again.
	Errored float64 `yaml:"errored"`
	// CacheHits is the share of rows, past the first with a cached prefix, that
	// find it (facts/claude-api.md 4.7: best effort, 30-98 %); the others write
	// it again. 0: none does.
	CacheHits float64 `yaml:"cache_hits"`
	// Unseen is for how long a new batch answers 404 to a poll, and does so
	// again for as long a while later, and its results once it has ended
	// (facts/peer-faults.md 9). 0: never. The server's alone.
	Unseen time.Duration `yaml:"unseen"`
	// RefuseLateCancel answers 400 to a cancel of an ended batch, which is
	// otherwise given back unchanged; the provider's answer is not known.
	RefuseLateCancel bool `yaml:"refuse_late_cancel"`
}

// Slowdown multiplies a rate by Factor where more than Above rows are at hand;
// the zero value: never.
type Slowdown struct {
	Above  int64   `yaml:"above"`
	Factor float64 `yaml:"factor"` // 0: nothing proceeds
}

// of is the factor for a number of rows.
func (s Slowdown) of(rows int64) float64 {
	if s.Above > 0 && rows > s.Above {
		return s.Factor
	}
	return 1
}

// SlowHours multiplies a rate by Factor from From to To o'clock, UTC, over
// midnight where From is the later; equal hours: never.
type SlowHours struct {
	From   int     `yaml:"from"`
	To     int     `yaml:"to"`
	Factor float64 `yaml:"factor"` // 0: nothing proceeds
}

// of is the factor at a time of day.
func (h SlowHours) of(t time.Time) float64 {
	hour := t.UTC().Hour()
	in := h.From <= hour && hour < h.To
	if h.From > h.To {
		in = hour >= h.From || hour < h.To
	}
	if in {
		return h.Factor
	}
	return 1
}

// BatchColleague is someone else who sends batches by the same org.
type BatchColleague struct {
	Rows  int64         `yaml:"rows"`  // of each batch; 0: 1,000
	Every time.Duration `yaml:"every"` // from one to the next; 0: 10 min
	From  time.Duration `yaml:"from"`  // of the first
	Until time.Duration `yaml:"until"` // none from then on; 0: for good
}

// batching fills in what 0 stands for.
func (sc *Scenario) batching() Batching {
	b := sc.Batches
	if b.RowsPerSecond == 0 {
		b.RowsPerSecond = 2
	}
	if b.Correlation == 0 {
		b.Correlation = 30 * time.Second
	}
	if b.AtOnce == 0 {
		b.AtOnce = 8
	}
	if b.Expiry == 0 {
		b.Expiry = 24 * time.Hour
	}
	if b.Cancel == 0 {
		b.Cancel = 25 * time.Second
	}
	return b
}

func (b *Batching) check() error {
	for _, v := range []struct {
		name  string
		value float64
	}{
		{"rows_per_second", b.RowsPerSecond},
		{"sd", b.SD},
		{"correlation", b.Correlation.Seconds()},
		{"at_once", float64(b.AtOnce)},
		{"overhead", b.Overhead.Seconds()},
		{"overhead_sd", b.OverheadSD},
		{"expiry", b.Expiry.Seconds()},
		{"cancel", b.Cancel.Seconds()},
		{"unseen", b.Unseen.Seconds()},
		{"depth.above", float64(b.Depth.Above)},
		{"size.above", float64(b.Size.Above)},
	} {
		if !(v.value >= 0 && v.value <= 1e9) {
			return fmt.Errorf("batches: %s is not between 0 and a thousand million", v.name)
		}
	}
	if h := b.Hours; h.From < 0 || h.From > 24 || h.To < 0 || h.To > 24 {
		return fmt.Errorf("batches: hours from %d to %d: an hour is 0 to 24", h.From, h.To)
	}
	return checkShares("batches", b.Errored, b.CacheHits, b.Depth.Factor, b.Size.Factor, b.Hours.Factor)
}

func (c *BatchColleague) check(org string) error {
	if c.Rows < 0 || c.Rows > maxBatchRows {
		return fmt.Errorf("org %s: a batch colleague's rows are not between 0 and %d", org, maxBatchRows)
	}
	if c.Every < 0 || c.Every > 0 && c.Every < time.Second || c.From < 0 || c.Until < 0 {
		return fmt.Errorf("org %s: a batch colleague's times are negative, or less than a second apart", org)
	}
	return nil
}

package emulator

import "fmt"

// Usage is what one answer consumed, in tokens.
type Usage struct {
	Input        int64 // neither written to a cache nor read from one
	Output       int64
	CacheWrite5m int64
	CacheWrite1h int64
	CacheRead    int64 // uses up no input limit
}

// prompt is the whole prompt (facts/claude-api.md 1.2).
func (u Usage) prompt() int64 { return u.Input + u.CacheWrite5m + u.CacheWrite1h + u.CacheRead }

// charged is what counts against the input limit.
func (u Usage) charged() int64 { return u.Input + u.CacheWrite5m + u.CacheWrite1h }

// terms are what changes a price beside the tokens.
type terms struct{ us, fast, batch bool }

// cost is the exact sum of one call in nano-dollars, rounded up once
// (facts/claude-api.md section 6). Haiku 5.5 prices the whole request by the
// band of its prompt; inference in the US is 1.1 times, fast mode twice, batch
// half the list price.
func (e *entry) cost(u Usage, t terms) int64 {
	sum := u.Input*e.in + u.Output*e.out + u.CacheWrite5m*e.write5m + u.CacheWrite1h*e.write1h + u.CacheRead*e.read
	if e.bandAbove > 0 && u.prompt() > e.bandAbove {
		sum *= e.bandMul
	}
	den := int64(1)
	if t.us && e.geo {
		sum, den = sum*11, den*10
	}
	if t.fast {
		sum *= 2
	}
	if t.batch {
		den *= 2
	}
	return (sum + den - 1) / den
}

// dollars writes nano-dollars with all nine decimals.
func dollars(nanos int64) string {
	return fmt.Sprintf("%d.%09d", nanos/1_000_000_000, nanos%1_000_000_000)
}

package emulator

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"
)

// purpose separates the draws that one key feeds, so that a new kind of draw
// moves no old one.
type purpose uint64

const (
	drawTTFT purpose = iota + 1
	_                // the second uniform of a normal draw
	drawRate
	_
	drawStraggler
	drawStretch
	drawStorm
	drawStormStream
	drawBefore
	drawBeforeAt
	drawAfter
	drawAfterAt
	drawCut
	drawCutAt
	drawReused
	drawHeaders
	drawStale
	drawInput
	_
	drawOutput
	_
	drawText
	drawRule
	drawFault
	drawColleague
	drawBatchOverhead
	_
	drawBatchCancel
	_
	drawBatchStart
	_
	drawBatchStep // each step in the bits above
	_
	drawBatchOrder
	drawBatchResults
	drawBatchErrored
	drawBatchCache
)

// key fixes every draw about one thing, by purpose.
type key struct{ a, b uint64 }

// bodyKey is the key of one body under a seed; nth tells its arrivals, or its
// complete answers, apart.
func bodyKey(seed uint64, h [16]byte, nth uint32) key {
	lo := binary.LittleEndian.Uint64(h[:8])
	hi := binary.LittleEndian.Uint64(h[8:])
	return key{mix(lo^seed, hi^0x9e3779b97f4a7c15), mix(hi+uint64(nth)*0xd1342543de82ef95, seed^0xa0761d6478bd642f)}
}

// mix is the folded 128-bit product of wyhash: one multiplication, good
// avalanche.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0xe7037ed1a0b428db, b^0x8ebc6af09c88c6e3)
	return hi ^ lo
}

func (k key) bits(p purpose) uint64 {
	x := mix(k.a+uint64(p)*0x589965cc75374cc3, k.b^uint64(p))
	return mix(x, k.a)
}

// uniform is in [0, 1).
func (k key) uniform(p purpose) float64 { return float64(k.bits(p)>>11) / (1 << 53) }

// chance is true with probability share, and draws nothing for a share of 0.
func (k key) chance(p purpose, share float64) bool { return share > 0 && k.uniform(p) < share }

// normal is standard normal by Box and Muller; it uses p and p+1.
func (k key) normal(p purpose) float64 {
	u := 1 - k.uniform(p) // (0, 1]: its logarithm is finite
	return math.Sqrt(-2*math.Log(u)) * math.Cos(2*math.Pi*k.uniform(p+1))
}

// lognormal has the given median; sd is that of the logarithm.
func (k key) lognormal(p purpose, median, sd float64) float64 {
	if sd <= 0 {
		return median
	}
	return median * math.Exp(sd*k.normal(p))
}

// seconds turns seconds into a Duration, to the nanosecond and never negative.
func seconds(s float64) time.Duration {
	if s <= 0 {
		return 0
	}
	if s >= math.MaxInt64/1e9 {
		return math.MaxInt64
	}
	return time.Duration(math.Round(s * 1e9))
}

package sched

import (
	"math"
	"time"
)

// latency is what a lane's answers took, and how long they were.
type latency struct {
	mean mean // seconds from send to last byte
	out  mean // output tokens

	norm    histogram     // of normalised latency, for quantiles
	window  histogram     // of the running 5 minutes
	windowT time.Duration // when it began
	best    float64       // lowest 5-minute median of normalised latency; 0: none yet
}

// normalise divides out how long the answer was, so that a change of work is
// not taken for a change of speed: seconds over those that an answer of that
// length takes at 75 tokens a second after one second.
func normalise(sec, out float64) float64 { return sec / nominal(out) }

func nominal(out float64) float64 { return 1 + out/75 }

func (l *latency) add(now time.Duration, sec, out float64) {
	l.mean.add(sec, 40)
	l.out.add(out, 40)
	x := normalise(sec, out)
	l.norm.add(x)
	if now-l.windowT >= 5*time.Minute {
		l.window, l.windowT = histogram{}, now
	}
	l.window.add(x)
	if n := l.window.n; n >= 20 && n%10 == 0 {
		m := l.window.quantile(0.5)
		if l.best == 0 || m < l.best {
			l.best = m
		}
	}
}

// usual is the mean latency, but at most twice the best: in an overload the
// plain mean would raise the very ceiling that should hold (B.3, Little).
func (l *latency) usual() float64 {
	if l.best == 0 {
		return l.mean.v
	}
	return min(l.mean.v, 2*l.best*nominal(l.out.v))
}

// round is the time of one round of attempts (B.6): a second at least.
func (l *latency) round() time.Duration { return max(time.Second, span(l.mean.v)) }

// rho is how many output tokens a second an attempt in flight produces; 0 while
// unknown.
func (l *lane) rho() float64 {
	if l.lat.mean.v <= 0 {
		return 0
	}
	return l.lat.out.v / l.lat.mean.v
}

// histogram counts positive numbers in bins of a quarter octave; it halves
// itself so that old samples fade.
type histogram struct {
	bin [96]uint32
	n   uint32
}

const histFrom = 1.0 / 256 // lower end of the first bin

func (h *histogram) add(x float64) {
	i := int(4 * math.Log2(max(x, histFrom)/histFrom))
	h.bin[min(i, len(h.bin)-1)]++
	h.n++
	if h.n >= 4000 {
		h.n = 0
		for i := range h.bin {
			h.bin[i] /= 2
			h.n += h.bin[i]
		}
	}
}

// quantile interpolates within the bin, on a log scale.
func (h *histogram) quantile(q float64) float64 {
	if h.n == 0 {
		return 0
	}
	left := q * float64(h.n)
	for i, n := range h.bin {
		if left <= float64(n) && n > 0 {
			return histFrom * math.Exp2((float64(i)+left/float64(n))/4)
		}
		left -= float64(n)
	}
	return histFrom * math.Exp2(float64(len(h.bin))/4)
}

// above is the mean of the samples over x, and how many they are.
func (h *histogram) above(x float64) (mean, n float64) {
	sum := 0.0
	for i, k := range h.bin {
		if at := histFrom * math.Exp2((float64(i)+0.5)/4); at > x {
			sum += at * float64(k)
			n += float64(k)
		}
	}
	if n > 0 {
		mean = sum / n
	}
	return mean, n
}

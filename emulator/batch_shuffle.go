package emulator

// shuffle is an order of n things that a key fixes and that needs no memory:
// i → (i·mul + add) mod n, mul and n without a common divisor.
type shuffle struct{ n, mul, add uint64 }

func newShuffle(n int, k key, p purpose) shuffle {
	s := shuffle{n: uint64(n), mul: 1}
	if n < 2 {
		return s
	}
	bits := k.bits(p)
	s.add = bits % s.n
	s.mul = s.n/3 + (bits>>32)%(s.n/2+1)
	for s.mul < 2 && s.n > 2 || divisor(s.mul, s.n) != 1 {
		s.mul++
	}
	return s
}

// at is the thing in place i.
func (s *shuffle) at(i int) int {
	if s.n == 0 {
		return i
	}
	return int((uint64(i)*s.mul + s.add) % s.n)
}

// divisor is the greatest common one.
func divisor(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

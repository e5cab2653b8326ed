package emulator

import "slices"

// Answers are numbered per body, so that equal bodies get different answers
// while neither a refusal nor a cut stream changes what comes next: a number
// whose exchange did not complete goes to the next one.

// answerKey keys everything about the nth complete answer to a body.
func (m *Model) answerKey(hash [16]byte, nth uint32) key {
	return bodyKey(m.seed^0x5851f42d4c957f2d, hash, nth)
}

// NextAnswer is the number that the next complete answer to a body would have,
// were it admitted now.
func (m *Model) NextAnswer(hash [16]byte) uint32 {
	i, ok := m.bodies[hash]
	if !ok {
		return 0
	}
	if m.counts[i].freed > 0 {
		return m.freed[i][0]
	}
	return m.counts[i].answers
}

func (m *Model) takeAnswer(body int32) uint32 {
	b := &m.counts[body]
	if b.freed == 0 {
		b.answers++
		return b.answers - 1
	}
	b.freed--
	f := m.freed[body]
	n := f[0]
	if b.freed == 0 {
		delete(m.freed, body)
	} else {
		m.freed[body] = f[1:]
	}
	return n
}

func (m *Model) giveBack(x *Exchange) {
	if x.Other || x.returned {
		return
	}
	x.returned = true
	m.counts[x.body].freed++
	f := m.freed[x.body]
	i, _ := slices.BinarySearch(f, x.Answer)
	m.freed[x.body] = slices.Insert(f, i, x.Answer)
}

package job

import (
	"errors"
	"os"
)

// gate holds lines back until those of all calls before them have passed, for
// standard output in the order of the input. What it holds lies in a file of
// ours, since one slow call may hold up any number of others.
type gate struct {
	to   sink
	held map[int]linePlace
	next int                 // the call whose line may pass
	skip func(call int) bool // calls that have no line
	f    *os.File
	size int64
}

func newGate(to sink, dir string, skip func(call int) bool) (*gate, error) {
	f, err := tempFile(dir)
	return &gate{to: to, held: map[int]linePlace{}, f: f, skip: skip}, err
}

func (g *gate) put(call int, line []byte) error {
	if g.pass(); call == g.next {
		g.next++
		if err := g.to.put(call, line); err != nil {
			return err
		}
		return g.release(false)
	}
	if _, err := g.f.WriteAt(line, g.size); err != nil {
		return err
	}
	g.held[call] = linePlace{g.size, uint32(call), uint32(len(line))}
	g.size += int64(len(line))
	return nil
}

// pass moves over calls that will have no line in this run.
func (g *gate) pass() {
	for g.skip(g.next) {
		g.next++
	}
}

// release lets pass what is held and next; all: whatever is held, in order.
func (g *gate) release(all bool) error {
	for len(g.held) > 0 {
		g.pass()
		p, ok := g.held[g.next]
		if !ok && !all {
			return nil
		}
		if ok {
			line := make([]byte, p.len)
			if _, err := g.f.ReadAt(line, p.off); err != nil {
				return err
			}
			if err := g.to.put(g.next, line); err != nil {
				return err
			}
			delete(g.held, g.next)
		}
		g.next++
	}
	return g.f.Truncate(0)
}

func (g *gate) close() error {
	return errors.Join(g.release(true), g.to.close(), g.f.Close())
}

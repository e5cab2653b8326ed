package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/flotilla-llm/flotilla"
)

// A stream is read as fast as it comes and written as fast as the client takes
// it: between the two up to aheadBytes wait, so that a client that reads slowly
// does not hold a place in a lane that others want. All streams together hold
// aheadAll; beyond it each has aheadLeast.
const (
	aheadBytes = 1 << 20
	aheadLeast = 64 << 10
	aheadAll   = 256 << 20
)

// relay is a stream between its reader and its writer.
type relay struct {
	body io.Reader
	all  *atomic.Int64 // bytes that wait in all relays

	mu    sync.Mutex
	wait  []byte // read and not yet taken
	whole int    // of wait: up to the end of the last event in it
	err   error  // how the stream ended; io.EOF: as it should
	more  chan struct{}
	room  chan struct{}
}

var (
	chunks = sync.Pool{New: func() any { return new([16 << 10]byte) }}
	spares = sync.Pool{New: func() any { return new([]byte) }}
)

// deliverStream passes a stream of events on as it arrives. The head goes out
// with the first bytes, so that a stream that breaks off before them is told by
// a status.
func (g *Gateway) deliverStream(ctx context.Context, cancel context.CancelFunc, w http.ResponseWriter, r *http.Request, a *flotilla.Answer) bool {
	s := &relay{body: a.Body, all: &g.ahead, more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	defer s.leave()
	var reader sync.WaitGroup
	defer reader.Wait()
	defer cancel()
	reader.Go(func() { s.read(ctx.Done()) })
	<-s.more
	if err := s.brokeBefore(); err != nil {
		cancel()
		g.fail(w, r, brokenOff(err))
		return false
	}
	head(w, a)
	err := s.write(ctx, w)
	switch {
	case errors.Is(err, io.EOF):
		return true
	case errors.Is(err, errTorn):
		cancel()
		reader.Wait()
		panic(http.ErrAbortHandler) // no event can be put behind half of one
	}
	return false
}

// brokeBefore is why the stream ended before a byte of it came.
func (s *relay) brokeBefore() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.wait) > 0 || errors.Is(s.err, io.EOF) {
		s.wake(s.more) // what is there is still to be written
		return nil
	}
	return s.err
}

// read takes the stream in until it ends.
func (s *relay) read(gone <-chan struct{}) {
	buf := chunks.Get().(*[16 << 10]byte)
	defer chunks.Put(buf)
	for {
		n, err := s.body.Read(buf[:])
		if n == 0 && err == nil {
			continue
		}
		full := s.put(buf[:n], err)
		if err != nil {
			return
		}
		if !full {
			continue
		}
		select {
		case <-s.room:
		case <-gone: // the exchange is cancelled: the next read says so
		}
	}
}

// put adds what was read; full says to wait until the writer has taken some.
func (s *relay) put(p []byte, err error) (full bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wait == nil {
		s.wait = (*spares.Get().(*[]byte))[:0]
	}
	at := len(s.wait)
	s.wait = append(s.wait, p...)
	if end := lastEvent(s.wait, at); end > 0 {
		s.whole = end
	}
	s.err = err
	total := s.all.Add(int64(len(p)))
	s.wake(s.more)
	return len(s.wait) >= aheadBytes || len(s.wait) >= aheadLeast && total >= aheadAll
}

// lastEvent is where the last event in b ends, as far as that is in what was
// added at an index: after a blank line. 0: none does.
func lastEvent(b []byte, at int) int {
	from := max(0, at-3) // a line break may have been cut in two
	lf, crlf := bytes.LastIndex(b[from:], []byte("\n\n")), bytes.LastIndex(b[from:], []byte("\n\r\n"))
	end := max(lf+2, crlf+3)
	if lf < 0 && crlf < 0 {
		return 0
	}
	return from + end
}

func (s *relay) wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Ends of write other than io.EOF.
var (
	errTorn = errors.New("the stream broke off inside an event that was passed on in part")
	errTold = errors.New("the stream broke off, and the client was told")
)

// write passes events on until the stream ends (io.EOF), breaks off (errTold,
// errTorn) or the client takes no more. ctx is that of the exchange.
func (s *relay) write(ctx context.Context, w http.ResponseWriter) error {
	control := http.NewResponseController(w)
	torn, failed := false, false // the last byte written is inside an event; an error event has passed
	for {
		<-s.more
		out, end := s.take()
		if len(out) > 0 {
			_, err := w.Write(out)
			if err == nil {
				err = control.Flush()
			}
			torn = !bytes.HasSuffix(out, []byte("\n\n")) && !bytes.HasSuffix(out, []byte("\n\r\n"))
			failed = failed || bytes.Contains(out, []byte("event: error\n"))
			s.give(out)
			if err != nil {
				return err
			}
		}
		switch {
		case end == nil:
		case errors.Is(end, io.EOF), ctx.Err() != nil:
			return end
		case torn:
			return errTorn
		case failed:
			return errTold
		default:
			return tell(w, control, end)
		}
	}
}

// longEvent is how much of one event is held back until it is whole. Events are
// a few hundred bytes; what is longer goes on in pieces.
const longEvent = 64 << 10

// take is what may be written now: whole events, so that an error can be put
// behind them. With the end of the stream comes all that is left of it.
func (s *relay) take() (out []byte, end error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	end = s.err
	n := s.whole
	if len(s.wait)-n > longEvent || errors.Is(end, io.EOF) {
		n = len(s.wait)
	}
	if n == 0 {
		return nil, end
	}
	out = s.wait
	s.wait, s.whole = nil, 0
	if rest := out[n:]; len(rest) > 0 {
		s.wait = append((*spares.Get().(*[]byte))[:0], rest...)
	}
	s.all.Add(-int64(n))
	s.wake(s.room)
	return out[:n], end
}

// leave lets go of what nobody takes any more.
func (s *relay) leave() { s.all.Add(-int64(len(s.wait))) }

// give returns a buffer of take's.
func (s *relay) give(out []byte) {
	if cap(out) <= aheadLeast { // a long one would stay for ever
		spares.Put(&out)
	}
}

// tell ends a stream that broke off by an error event, as the API does
// (facts/gateways.md, rule 8): a clean end would pass for a whole answer.
func tell(w http.ResponseWriter, control *http.ResponseController, end error) error {
	kind, message := kindAPI, "the answer of the provider broke off; what came of it may have been billed"
	if errors.Is(end, flotilla.ErrClosed) || errors.Is(end, context.Canceled) {
		kind, message = kindOverloaded, "this gateway stopped before the answer had ended; what came of it may have been billed"
	}
	b := append([]byte("event: error\ndata: "), envelope(kind, message, requestID())...)
	if _, err := w.Write(append(b, '\n', '\n')); err != nil {
		return err
	}
	_ = control.Flush() // the handler's end flushes too
	return errTold
}

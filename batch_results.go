package flotilla

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/flotilla-llm/flotilla/internal/sched"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// Bounds on a download of results: what is read and not yet taken in, so that
// the longest results pass through little memory, and how many are read at once.
const (
	parcelRows     = 512
	parcelBytes    = 1 << 20
	maxDownloads   = 4
	maxIncomplete  = 3 // downloads that end early before what is missing counts as not answered
	maxWithheld    = 8 // … where the batch's counts say that it was answered: to send it again buys it twice
	resultsSilence = 2 * time.Minute
)

// rowAnswer is a line of results, out of the reader's memory.
type rowAnswer struct {
	id       string
	kind     string // wire.RowSucceeded …
	message  []byte
	facts    wire.MessageFacts
	refusal  wire.Refusal
	envelope []byte
	fault    string
}

// parcel is lines of results on their way to the loop.
type parcel struct {
	rows     []rowAnswer
	bytes    int
	emulated string
	of       string        // the provider's id of the batch
	taken    chan struct{} // closed when the loop wants the next one
}

// download reads the results of a batch and passes them on. It ends with nil
// at the end of the stream, which need not be that of the results
// (facts/claude-api.md 4.4).
func (f *Fleet) download(ctx context.Context, b *batch, org *orgState, id string, number int32) error {
	select {
	case f.downloads <- struct{}{}:
		defer func() { <-f.downloads }()
	case <-ctx.Done():
		return ctx.Err()
	}
	req, trace := newSend(ctx, http.MethodGet, org.batchURL(id, "results"), b.stream.headerTo(org), nil)
	head := time.AfterFunc(f.clock.real(flightDeadline), b.cancel)
	resp, err := org.transport.RoundTrip(req)
	head.Stop()
	if err != nil {
		_ = trace.failure(err)
		return errors.New(f.redact(err.Error()))
	}
	defer resp.Body.Close()
	switch {
	case resp.Header.Get(ourHeader) != "":
		return ErrOurselves
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("the results answer with status %d", resp.StatusCode)
	}
	idle := &patientReader{r: resp.Body, patience: f.clock.real(resultsSilence), giveUp: b.cancel}
	p := parcel{of: id, emulated: resp.Header.Get(emulatedHeader)}
	return f.readResults(ctx, b, wire.NewResultReader(idle), number, p)
}

// readResults passes lines on until their end.
func (f *Fleet) readResults(ctx context.Context, b *batch, lines *wire.ResultReader, number int32, empty parcel) error {
	p := empty
	for {
		line, err := lines.Next()
		var bad *wire.ResultLineError
		switch {
		case errors.As(err, &bad):
			continue // whose row it was shows in what is missing
		case err == nil:
			p.add(&line)
		}
		if err != nil || len(p.rows) == parcelRows || p.bytes > parcelBytes {
			if !f.pass(ctx, b, &p, number) {
				return ctx.Err()
			}
			p = empty
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// add copies a line.
func (p *parcel) add(line *wire.ResultLine) {
	p.rows = append(p.rows, rowAnswer{
		id: line.ID, kind: line.Type, message: bytes.Clone(line.Message), facts: line.Facts,
		refusal: line.Refusal, envelope: bytes.Clone(line.Envelope), fault: line.Fault,
	})
	p.bytes += len(line.Message) + len(line.Envelope)
}

// pass gives a parcel to the loop and waits until it wants more.
func (f *Fleet) pass(ctx context.Context, b *batch, full *parcel, number int32) bool {
	if len(full.rows) == 0 {
		return true
	}
	p := new(parcel)
	*p = *full
	p.taken = make(chan struct{})
	f.inbox.put(message{run: func(now time.Duration) { f.takeIn(now, b, p, number) }})
	select {
	case <-p.taken:
		return true
	case <-ctx.Done():
		return false
	}
}

// patientReader gives up on a stream that is silent for too long while it is
// being read.
type patientReader struct {
	r        io.Reader
	patience time.Duration
	giveUp   func()
	timer    *time.Timer
}

func (p *patientReader) Read(buf []byte) (int, error) {
	if p.timer == nil {
		p.timer = time.AfterFunc(p.patience, p.giveUp)
	} else {
		p.timer.Reset(p.patience)
	}
	defer p.timer.Stop()
	return p.r.Read(buf)
}

// collect takes in the results of a batch that has ended.
func (f *Fleet) collect(_ time.Duration, id sched.BatchID) {
	b := f.batches[id]
	if b == nil || b.stream.aborted {
		return
	}
	b.under = true
	b.stream.exchanges++
	b.downloads++
	b.strange = ""
	var ctx context.Context
	ctx, b.cancel = context.WithCancel(f.ctx)
	org, provider, number := b.org, b.provider, b.downloads
	f.beside(func() func(time.Duration) {
		err := f.download(ctx, b, org, provider, number)
		return func(now time.Duration) { f.collected(now, b, provider, err) }
	})
}

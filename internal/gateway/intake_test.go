package gateway

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// A few kilobytes that decode to megabytes count as what they decode to: that is
// what is kept.
func TestUnpackedBytesAreCounted(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, strings.Repeat(" ", 4<<20))
	_ = z.Close()
	for _, encoding := range []string{"gzip", "GZIP", "x-gzip"} {
		const before = maxHeld - 1<<20
		var held atomic.Int64
		held.Store(before)
		r := httptest.NewRequest(http.MethodPost, "/v1/messages", nil)
		r.Header.Set("Content-Encoding", encoding)
		b := &body{
			ReadCloser: io.NopCloser(bytes.NewReader(packed.Bytes())), control: http.NewResponseController(httptest.NewRecorder()),
			held: &held, counted: true,
		}
		r.Body = b
		if _, e := takeBody(r); e == nil || e.status != http.StatusTooManyRequests {
			t.Errorf("%s: %+v, want a 429", encoding, e)
		}
		b.release()
		if left := held.Load(); left != before {
			t.Errorf("%s: %d bytes are held afterwards", encoding, left-before)
		}
	}
}

// sized notes how much room it is offered at first.
type sized struct{ room int }

func (s *sized) Read(p []byte) (int, error) {
	if s.room == 0 {
		s.room = len(p)
	}
	return 0, errors.New("gone")
}

// Whoever announces a large body has not sent it.
func TestAnnouncedBytesTakeNoMemory(t *testing.T) {
	for announced, most := range map[int64]int{maxBody: trusted + 1, 100: 101} {
		in := &sized{}
		r := httptest.NewRequest(http.MethodPost, "/v1/messages", in)
		r.ContentLength = announced
		if _, e := takeBody(r); e == nil || in.room == 0 || in.room > most {
			t.Errorf("%d bytes announced: %d bytes of memory (%+v)", announced, in.room, e)
		}
	}
}

package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// FuzzUpload holds the reader of creates to one that reads all at once.
func FuzzUpload(f *testing.F) {
	for _, body := range []string{
		prompts("x", 3), `{"requests":[]}`, `{}`, `[]`, ``, `{"requests":[{"custom_id":"a","params":{}}]} `, `{"a":{"requests":[1]},"requests":[{"params":{"b":[{}]},"custom_id":"a"}]}`,
		`{"requests":[{"custom_id":"a\"]}","params":{}}]}`, `{"requests":[tru]}`, `{"requests":[true,1,-0,"x",null]}`, `{"requests":1,"requests":[]}`, "{\"requests\"\n:\t[\r]}", `{"requests":[[[]}`, `{"requests":[}]}`, `{"requests":[],}`, `{"requests":[1,]}`,
	} {
		f.Add([]byte(body), uint8(3))
	}
	f.Fuzz(func(t *testing.T, body []byte, step uint8) {
		got := map[string]string{}
		_, err := readUpload(chunked(body, int(step)), func(r *uploadRow) error {
			got[r.id] = string(r.params)
			return nil
		})
		var wrong *refused
		if err != nil && !errors.As(err, &wrong) {
			t.Fatalf("%q: %v", body, err)
		}
		valid := wire.Valid(body) == nil
		if broken := wrong != nil && strings.HasPrefix(wrong.message, "The request body is not valid JSON"); valid && broken && !oddly(body) || !valid && !broken {
			t.Fatalf("%q: valid %v, but %v", body, valid, err)
		}
		if err != nil {
			return
		}
		var all struct {
			Requests []struct {
				ID     string          `json:"custom_id"`
				Params json.RawMessage `json:"params"`
			} `json:"requests"`
		}
		if err := json.Unmarshal(body, &all); err != nil {
			t.Fatalf("%q: %v", body, err)
		}
		if len(all.Requests) != len(got) {
			t.Fatalf("%q: %d rows of %d", body, len(got), len(all.Requests))
		}
		for _, r := range all.Requests {
			if got[r.ID] != string(r.Params) {
				t.Fatalf("%q: params of %s are %q", body, r.ID, got[r.ID])
			}
		}
	})
}

// oddly says that a body is JSON that the reader refuses all the same: another
// thing than an object, or two lists.
func oddly(body []byte) bool {
	return !bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("{")) || bytes.Count(body, []byte("requests")) > 1 || bytes.Contains(body, []byte(`\u`))
}

// chunked gives out a body in small reads.
func chunked(body []byte, step int) io.Reader {
	if step == 0 {
		return iotest.OneByteReader(bytes.NewReader(body))
	}
	return &steps{body, step}
}

type steps struct {
	b    []byte
	step int
}

func (s *steps) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), s.step)], s.b)
	s.b = s.b[n:]
	return n, nil
}

// rowsOf makes a create of n rows as it is read.
type rowsOf struct {
	n, at int
	size  int
	rest  []byte
}

func (r *rowsOf) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		switch {
		case r.at > r.n+1:
			return 0, io.EOF
		case r.at == 0:
			r.rest = []byte(`{"requests":[`)
		case r.at == r.n+1:
			r.rest = []byte(`]}`)
		default:
			sep := ","
			if r.at == 1 {
				sep = ""
			}
			r.rest = fmt.Appendf(nil, `%s{"custom_id":"r%d","params":{"model":"claude-haiku-4-5","max_tokens":10,"messages":[{"role":"user","content":"%d %s"}]}}`, sep, r.at, r.at, strings.Repeat("x", r.size))
		}
		r.at++
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// The largest create there is passes through little memory.
func TestLargestCreateInLittleMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 240 MB")
	}
	inShop(t, func(s *shop) {
		var before, now runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		most := uint64(0)
		body := &rowsOf{n: 100_000, size: 2300}
		read := 0
		look := readerFunc(func(p []byte) (int, error) {
			n, err := body.Read(p)
			if read += n; read>>24 != (read-n)>>24 { // each 16 MB
				runtime.GC()
				runtime.ReadMemStats(&now)
				most = max(most, now.HeapAlloc)
			}
			return n, err
		})
		r := s.ask("ann", "POST", batchesPath, look)
		if r.status != 200 || r.get("request_counts.processing").Int() != 100_000 {
			t.Fatalf("%d %s", r.status, r.body)
		}
		grown := int64(most) - int64(before.HeapAlloc)
		t.Logf("a create of %d MB held %d MB at most", read>>20, grown>>20)
		if grown > 48<<20 {
			t.Errorf("a create of %d MB held %d MB", read>>20, grown>>20)
		}
		s.ask("ann", "POST", batchesPath+"/"+r.get("id").Str+"/cancel", nil)
		s.ended("ann", r.get("id").Str)
	})
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

package wire

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// benchBody is a body of 2 KB, as template rows make them.
var benchBody = []byte(`{"model":"claude-sonnet-4-6","max_tokens":120,"system":"You judge statements.","messages":[{"role":"user","content":"` +
	strings.Repeat(`Is the following statement something the person would say?\n\"I enjoy 42 long walks — alone.\" `, 19) + `"}]}`)

func BenchmarkParse(b *testing.B) {
	b.SetBytes(int64(len(benchBody)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(benchBody); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkValid(b *testing.B) {
	b.Run("wire", func(b *testing.B) {
		b.SetBytes(int64(len(benchBody)))
		for b.Loop() {
			if Valid(benchBody) != nil {
				b.Fatal("not valid")
			}
		}
	})
	b.Run("gjson", func(b *testing.B) { // the baseline
		b.SetBytes(int64(len(benchBody)))
		for b.Loop() {
			if !gjson.ValidBytes(benchBody) {
				b.Fatal("not valid")
			}
		}
	})
}

func BenchmarkCanonicalKey(b *testing.B) {
	k := NewKeyer("https://api.anthropic.com:443", "2023-06-01", nil)
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = Canonical(buf[:0], benchBody)
		k.Key(buf)
	}
}

func BenchmarkReadMessage(b *testing.B) {
	msg := []byte(strings.Replace(sampleMessage, `"{\"type`, `"`+strings.Repeat("A sentence of an answer. ", 60)+`{\"type`, 1))
	b.SetBytes(int64(len(msg)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ReadMessage(msg); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseLimits(b *testing.B) {
	h := header(
		"Date", "Sun, 12 Apr 2026 21:16:40 GMT",
		"anthropic-ratelimit-requests-limit", "1000", "anthropic-ratelimit-requests-remaining", "999",
		"anthropic-ratelimit-requests-reset", "2026-04-12T21:16:39Z",
		"anthropic-ratelimit-input-tokens-limit", "50000", "anthropic-ratelimit-input-tokens-remaining", "49000",
		"anthropic-ratelimit-input-tokens-reset", "2026-04-12T21:16:46Z",
		"anthropic-ratelimit-output-tokens-limit", "50000", "anthropic-ratelimit-output-tokens-remaining", "49000",
		"anthropic-ratelimit-output-tokens-reset", "2026-04-12T21:16:46Z",
	)
	b.ReportAllocs()
	for b.Loop() {
		ParseLimits(h)
	}
}

func BenchmarkAssembler(b *testing.B) {
	stream := []byte(sse(wholeStream...))
	a := &Assembler{}
	var buf []byte
	b.SetBytes(int64(len(stream)))
	b.ReportAllocs()
	for b.Loop() {
		a.Reset()
		if _, err := a.Write(stream); err != nil {
			b.Fatal(err)
		}
		msg, _, err := a.Finish(buf[:0])
		if err != nil {
			b.Fatal(err)
		}
		buf = msg
	}
}

// BenchmarkResultReader reads results of ordinary answers, a line each.
func BenchmarkResultReader(b *testing.B) {
	var in []byte
	for row := range 1000 {
		id := AppendRowID(nil, RowID{"2e08", 1_732_924_800_000_000_000, row})
		in = append(in, succeededLine(string(id), strings.Repeat("A sentence of an answer. ", 20))...)
		in = append(in, '\n')
	}
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		r := NewResultReader(bytes.NewReader(in))
		for {
			_, err := r.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkAppendBatchItem writes rows of a create.
func BenchmarkAppendBatchItem(b *testing.B) {
	var buf []byte
	b.SetBytes(int64(len(benchBody)))
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendBatchItem(buf[:0], RowID{"2e08", 1_732_924_800_000_000_000, 141_599}, benchBody)
	}
}

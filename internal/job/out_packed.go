package job

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// packedSink gathers lines into gzip members or zstd frames of their own, so
// that what is in the file can always be read, whatever ends the process; the
// lines still gathered then are written again from the journal.
type packedSink struct {
	file *fileSink
	raw  bytes.Buffer
	pack func([]byte) ([]byte, error)
}

// packEvery is how much text makes a member: small enough to lose little to a
// crash, large enough to pack well.
const packEvery = 128 << 10

func packer(name string) (func([]byte) ([]byte, error), error) {
	if strings.HasSuffix(strings.ToLower(name), ".gz") {
		return func(raw []byte) ([]byte, error) {
			var b bytes.Buffer
			w := gzip.NewWriter(&b)
			if _, err := w.Write(raw); err != nil {
				return nil, err
			}
			err := w.Close()
			return b.Bytes(), err
		}, nil
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(packEvery))
	if err != nil {
		return nil, err
	}
	return func(raw []byte) ([]byte, error) { return enc.EncodeAll(raw, nil), nil }, nil
}

func (s *packedSink) put(_ int, line []byte) error {
	s.raw.Write(line)
	if s.raw.Len() < packEvery {
		return nil
	}
	return s.flush()
}

func (s *packedSink) flush() error {
	if s.raw.Len() == 0 {
		return nil
	}
	member, err := s.pack(s.raw.Bytes())
	if err != nil {
		return s.file.o.fault(err)
	}
	s.raw.Reset()
	return s.file.put(0, member)
}

func (s *packedSink) close() error {
	err := s.flush()
	if e := s.file.close(); err == nil {
		err = e
	}
	return err
}

// openPackedText reads a packed OUT as text, as far as it is whole: a crash may
// have cut it anywhere, in the first bytes too.
func openPackedText(f io.Reader) (*unpackedUntilTorn, error) {
	br := bufio.NewReaderSize(f, 1<<16)
	head, _ := br.Peek(4)
	gz, zst := []byte("\x1f\x8b"), []byte("\x28\xb5\x2f\xfd")
	switch {
	case bytes.HasPrefix(head, gz), bytes.HasPrefix(head, zst):
	case len(head) < 4 && (bytes.HasPrefix(gz, head) || bytes.HasPrefix(zst, head)):
		return &unpackedUntilTorn{r: bytes.NewReader(nil), torn: true}, nil
	default:
		return nil, errors.New("it is not packed as its name says")
	}
	r, err := unpacked(br)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &unpackedUntilTorn{r: bytes.NewReader(nil), torn: true}, nil
	}
	return &unpackedUntilTorn{r: r}, err
}

// unpackedUntilTorn is what a packed file holds before its first fault.
type unpackedUntilTorn struct {
	r    io.Reader
	torn bool
}

func (u *unpackedUntilTorn) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	if err != nil && err != io.EOF {
		u.torn, err = true, io.EOF
	}
	return n, err
}

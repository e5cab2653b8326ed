package job

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// layout is what the bytes of an input are, once uncompressed.
type layout uint8

const (
	layoutJSONL layout = iota
	layoutCSV
	layoutParquet
)

// input is one INPUT, opened: whatever form it has, its records can be read
// again as JSON lines by their place in text.
type input struct {
	name   string // as the user wrote it
	layout layout
	text   *os.File // JSON lines
	own    bool     // text is a spooled copy of ours
	stream bool     // it came by standard input or a pipe, once
}

// streamName is the name of standard input for people.
const streamName = "standard input"

// table says whether its records are rows under columns.
func (in *input) table() bool { return in.layout != layoutJSONL }

func (in *input) close() error { return in.text.Close() }

// openInput opens one INPUT. dir is where copies go that are needed for reading
// again: beside the journal.
func openInput(name string, stdin io.Reader, dir string) (*input, error) {
	in := &input{name: name}
	if name == "-" {
		in.name, in.stream = streamName, true
		return in, in.fromStream(stdin, dir)
	}
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", name, bare(err))
	}
	if info.IsDir() {
		return nil, WithHint(fmt.Errorf("input %s is a directory", name),
			"name its files: "+filepath.Join(name, "*.jsonl"))
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("input %s: %w", name, bare(err))
	}
	if !info.Mode().IsRegular() {
		defer f.Close()
		in.stream = true
		return in, in.fromStream(f, dir)
	}
	plain, err := in.named(name)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if plain {
		in.text = f
		return in, nil
	}
	defer f.Close()
	return in, in.fromFile(f, info.Size(), name, dir)
}

// named takes the format from the name; plain says that the file can be read
// as it lies.
func (in *input) named(name string) (plain bool, err error) {
	base, packed := strings.ToLower(name), false
	for _, ext := range []string{".gz", ".zst"} {
		if cut, ok := strings.CutSuffix(base, ext); ok {
			base, packed = cut, true
		}
	}
	switch ext := filepath.Ext(base); {
	case ext == ".jsonl", packed && ext == "":
	case ext == ".csv":
		in.layout = layoutCSV
	case ext == ".parquet" && !packed:
		in.layout = layoutParquet
	case ext == ".json":
		return false, WithHint(fmt.Errorf("input %s: a .json file is not read", name),
			fmt.Sprintf("one object a line, in a .jsonl file: jq -c '.[]' %s > rows.jsonl", name))
	default:
		return false, WithHint(fmt.Errorf("input %s: unknown kind of file", name),
			"inputs are .jsonl, .jsonl.gz, .jsonl.zst, .csv or .parquet, or - for JSON lines on standard input")
	}
	return in.layout == layoutJSONL && !packed, nil
}

// fromFile spools a regular file that cannot be read as it lies.
func (in *input) fromFile(f *os.File, size int64, name, dir string) error {
	if in.layout == layoutParquet {
		return in.spool(dir, func(w *bufio.Writer) error { return parquetToJSON(w, f, size) })
	}
	r, err := unpacked(bufio.NewReaderSize(f, 1<<18))
	if err != nil {
		return fmt.Errorf("input %s: %w", name, cutShort(err))
	}
	defer r.Close()
	if in.layout == layoutCSV {
		return in.spool(dir, func(w *bufio.Writer) error { return csvToJSON(w, r) })
	}
	return in.spool(dir, func(w *bufio.Writer) error { _, err := io.Copy(w, r); return err })
}

// fromStream spools what can be read once: standard input or a pipe. Packed
// streams and Parquet are known by their first bytes; else it is JSON lines.
func (in *input) fromStream(stream io.Reader, dir string) error {
	if stream == nil {
		stream = strings.NewReader("")
	}
	br := bufio.NewReaderSize(stream, 1<<18)
	if head, _ := br.Peek(4); string(head) == "PAR1" {
		return in.parquetStream(br, dir)
	}
	r, err := unpacked(br)
	if err != nil {
		return fmt.Errorf("%s: %w", in.name, err)
	}
	defer r.Close()
	return in.spool(dir, func(w *bufio.Writer) error { _, err := io.Copy(w, r); return err })
}

// parquetStream spools twice, since Parquet is read from its end.
func (in *input) parquetStream(r io.Reader, dir string) error {
	in.layout = layoutParquet
	whole := &input{name: in.name}
	if err := whole.spool(dir, func(w *bufio.Writer) error { _, err := io.Copy(w, r); return err }); err != nil {
		return err
	}
	defer whole.close()
	size, err := whole.text.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	return in.spool(dir, func(w *bufio.Writer) error { return parquetToJSON(w, whole.text, size) })
}

// unpacked reads through gzip or zstd, known by their first bytes.
func unpacked(r *bufio.Reader) (io.ReadCloser, error) {
	head, _ := r.Peek(4)
	switch {
	case len(head) >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		return gzip.NewReader(r)
	case string(head) == "\x28\xb5\x2f\xfd":
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(1<<30))
		if err != nil {
			return nil, err
		}
		return z.IOReadCloser(), nil
	}
	return io.NopCloser(r), nil
}

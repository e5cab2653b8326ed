package job

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// outForm is what kind of file OUT is.
type outForm uint8

const (
	outLines  outForm = iota // JSON lines, appended as rows settle
	outPacked                // the same, in gzip or zstd
	outTable                 // CSV or Parquet, written at every end
	outStream                // standard output, a pipe or a device: JSON lines, nothing to go back to
)

// Output says where results go.
type Output struct {
	Path      string // empty or "-": Stdout
	Stdout    io.Writer
	Terminal  bool // Stdout is a terminal
	Keep      []string
	ByInput   bool // lines in the order of the input, once all is done
	Overwrite bool // an OUT that is not of this job is moved aside
}

// terminalRows is how many rows are put onto a terminal unasked.
const terminalRows = 100

// form tells what OUT is by its name and by what stands there.
func (o *Output) form() (outForm, error) {
	if o.Path == "" || o.Path == "-" {
		return outStream, nil
	}
	info, err := os.Stat(o.Path)
	switch {
	case err == nil && info.IsDir():
		return 0, WithHint(fmt.Errorf("output %s is a directory", o.Path), "name a file in it: "+filepath.Join(o.Path, "results.jsonl"))
	case err == nil && !info.Mode().IsRegular():
		return outStream, o.fullDevice(info)
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return 0, fmt.Errorf("output %s: %w", o.Path, bare(err))
	}
	name := strings.ToLower(o.Path)
	switch {
	case strings.HasSuffix(name, ".jsonl"):
		return outLines, nil
	case strings.HasSuffix(name, ".jsonl.gz"), strings.HasSuffix(name, ".jsonl.zst"):
		return outPacked, nil
	case strings.HasSuffix(name, ".csv"), strings.HasSuffix(name, ".parquet"):
		return outTable, nil
	}
	return 0, WithHint(fmt.Errorf("output %s: unknown kind of file", o.Path),
		"outputs are .jsonl, .jsonl.gz, .jsonl.zst, .csv or .parquet")
}

// fullDevice refuses /dev/full before anything is paid for: it takes nothing.
func (o *Output) fullDevice(info os.FileInfo) error {
	if full, err := os.Stat("/dev/full"); err == nil && os.SameFile(full, info) {
		return o.fault(syscall.ENOSPC)
	}
	return nil
}

// fault words a failure to write OUT.
func (o *Output) fault(err error) error {
	name := o.Path
	if name == "" || name == "-" {
		name = "standard output"
	}
	err = fmt.Errorf("write %s: %w", name, bare(err))
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return WithHint(err, "make room, or give another -o; every result so far is in the journal, and the same command goes on")
	}
	return err
}

// check refuses an OUT that could not take the results, before anything is sent.
func (o *Output) check(inputs []string, rows int) (outForm, error) {
	form, err := o.form()
	if err != nil {
		return form, err
	}
	if form == outStream {
		if o.Terminal && (o.Path == "" || o.Path == "-") && rows > terminalRows {
			return form, WithHint(fmt.Errorf("%d results would scroll over the terminal", rows), "-o results.jsonl, or a pipe: | less")
		}
		return form, nil
	}
	if err := o.notInput(inputs); err != nil {
		return form, err
	}
	return form, o.room()
}

// notInput refuses to write over an input, under whatever name.
func (o *Output) notInput(inputs []string) error {
	for _, in := range inputs {
		if sameFile(in, o.Path) {
			return WithHint(fmt.Errorf("output %s is the input %s", o.Path, in), "give -o another name")
		}
	}
	return nil
}

// Apart refuses a further file that is to be written, such as that of
// --summary, where it is an input or OUT: it would take the place of what
// stands there. flag is for the error. A program asks before it opens the file.
func (o *Output) Apart(inputs []string, flag, path string) error {
	if path == "" {
		return nil
	}
	hint := "give " + flag + " another name"
	for _, in := range inputs {
		if sameFile(in, path) {
			return WithHint(fmt.Errorf("%s %s is the input %s", flag, path, in), hint)
		}
	}
	if o.Path != "" && sameFile(o.Path, path) {
		return WithHint(fmt.Errorf("%s %s is the output", flag, path), hint)
	}
	return nil
}

// sameFile says that two names lead to one file; devices are not files.
func sameFile(a, b string) bool {
	aInfo, aErr := os.Stat(a)
	bInfo, bErr := os.Stat(b)
	if aErr == nil && bErr == nil {
		return aInfo.Mode().IsRegular() && os.SameFile(aInfo, bInfo)
	}
	return absolute(a) == absolute(b)
}

// room tries the directory of OUT: whether it is there, and not full.
func (o *Output) room() error {
	dir := filepath.Dir(o.Path)
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("output %s: directory %s: %w", o.Path, dir, bare(err))
	}
	err := tryWriting(dir)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EROFS) {
		return o.fault(err)
	}
	if _, missing := os.Stat(o.Path); errors.Is(missing, os.ErrNotExist) && err != nil {
		return fmt.Errorf("output %s: %w", o.Path, bare(err))
	}
	return nil
}

// tryWriting finds a full or read-only directory while nothing is lost yet.
func tryWriting(dir string) error {
	f, err := os.CreateTemp(dir, ".flotilla-*")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 1<<16))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}

// sink takes the lines of settled calls.
type sink interface {
	// put takes the line of a call, which is durable in the journal already.
	put(call int, line []byte) error
	// close ends the writing; what was put is in the file when it returns.
	close() error
}

// streamSink writes to what cannot be gone back to.
type streamSink struct {
	o *Output
	w io.Writer
	c io.Closer // nil: not ours
}

func (o *Output) openStream() (*streamSink, error) {
	if o.Path == "" || o.Path == "-" {
		return &streamSink{o: o, w: o.Stdout}, nil
	}
	f, err := os.OpenFile(o.Path, os.O_WRONLY, 0)
	if err != nil {
		return nil, o.fault(err)
	}
	return &streamSink{o: o, w: f, c: f}, nil
}

func (s *streamSink) put(_ int, line []byte) error {
	if _, err := s.w.Write(line); err != nil {
		return s.o.fault(err)
	}
	return nil
}

func (s *streamSink) close() error {
	if s.c == nil {
		return nil
	}
	if err := s.c.Close(); err != nil {
		return s.o.fault(err)
	}
	return nil
}

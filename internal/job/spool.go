package job

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
)

// spool copies records to a file of mode 0600 in dir that has no name any more
// when this returns, so that whatever ends the process leaves nothing behind.
func (in *input) spool(dir string, write func(*bufio.Writer) error) (err error) {
	f, err := tempFile(dir)
	if err != nil {
		return fmt.Errorf("copy %s to %s: %w", in.name, dir, bare(err))
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("read %s: %w", in.name, errors.Join(cutShort(err), f.Close()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<18)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("copy to %s: %w", dir, bare(err))
	}
	in.text, in.own = f, true
	return nil
}

// tempFile opens a file that the system takes back by itself. Where an open
// file cannot lose its name (Windows), the name stays until the directory is
// cleaned.
func tempFile(dir string) (*os.File, error) {
	f, err := os.CreateTemp(dir, "spool-*.jsonl") // mode 0600
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name())
	return f, nil
}

// cutShort words how packed files end that were not written or sent to their end.
func cutShort(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the packed file ends in the middle: it is not whole")
	}
	return err
}

package dashboard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// readFile reads a file of at most so many bytes; nil: there is none.
func readFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is longer than %d bytes", path, most)
	}
	if err != nil {
		return nil, err
	}
	if text == nil {
		text = []byte{}
	}
	return text, nil
}

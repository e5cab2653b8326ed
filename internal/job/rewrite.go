package job

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// linePlace is where the line of a call stands in a file.
type linePlace struct {
	off  int64
	call uint32
	len  uint32
}

// rewrite writes OUT anew by a temporary file and rename: with the lines of
// fresh made again, doubled ones left out, and in the order of the input where
// that is asked for. Until the rename the old file stands as it is.
func (w *writer) rewrite(ctx context.Context, sorted bool, fresh func(call int) bool) (size int64, err error) {
	text, done, err := w.o.plainText()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, done()) }()
	var places []linePlace
	r := newOutReader(w, w.standing.Outcome)
	err = r.read(io.NewSectionReader(text, 0, 1<<62), 1<<62, func(call int, off int64, line []byte) error {
		places = append(places, linePlace{off, uint32(call), uint32(len(line))})
		return nil
	})
	if err != nil {
		return 0, err
	}
	if sorted {
		slices.SortFunc(places, func(a, b linePlace) int { return cmp.Compare(a.call, b.call) })
	}
	return w.o.replace(func(out io.Writer) error {
		var line []byte
		for _, p := range places {
			if fresh(int(p.call)) {
				if line, err = w.again(ctx, line[:0], int(p.call)); err != nil {
					return err
				}
			} else {
				line = slices.Grow(line[:0], int(p.len))[:p.len]
				if _, err := text.ReadAt(line, p.off); err != nil {
					return err
				}
			}
			if _, err := out.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// plainText opens OUT as JSON lines that can be read at offsets.
func (o *Output) plainText() (text *os.File, done func() error, err error) {
	f, err := os.Open(o.Path)
	if err != nil {
		return nil, nil, o.fault(err)
	}
	form, err := o.form()
	if form != outPacked || err != nil {
		return f, f.Close, err
	}
	defer f.Close()
	r, err := openPackedText(f)
	if err != nil {
		return nil, nil, o.fault(err)
	}
	spool, err := tempFile(filepath.Dir(o.Path))
	if err != nil {
		return nil, nil, o.fault(err)
	}
	if _, err := io.Copy(spool, r); err != nil {
		return nil, nil, errors.Join(o.fault(err), spool.Close())
	}
	return spool, spool.Close, nil
}

// replace writes a file beside OUT and renames it over OUT once it is on disk.
// A packed OUT is packed on the way. size is that of the new file.
func (o *Output) replace(write func(io.Writer) error) (size int64, err error) {
	return o.replaceRaw(func(f *os.File) error {
		form, err := o.form()
		if err != nil {
			return err
		}
		if form != outPacked {
			w := bufio.NewWriterSize(f, 1<<18)
			return errors.Join(write(w), w.Flush())
		}
		pack, err := packer(o.Path)
		if err != nil {
			return err
		}
		w := &memberWriter{f: f, pack: pack}
		return errors.Join(write(w), w.flush())
	})
}

// memberWriter packs what is written to it, member by member.
type memberWriter struct {
	f    io.Writer
	raw  []byte
	pack func([]byte) ([]byte, error)
}

func (m *memberWriter) Write(p []byte) (int, error) {
	m.raw = append(m.raw, p...)
	if len(m.raw) < packEvery {
		return len(p), nil
	}
	return len(p), m.flush()
}

func (m *memberWriter) flush() error {
	if len(m.raw) == 0 {
		return nil
	}
	member, err := m.pack(m.raw)
	if err == nil {
		_, err = m.f.Write(member)
	}
	m.raw = m.raw[:0]
	return err
}

func (o *Output) replaceRaw(write func(*os.File) error) (size int64, err error) {
	err = replaceFile(o.Path, func(f *os.File) error {
		if err := write(f); err != nil {
			return err
		}
		info, err := f.Stat()
		if err == nil {
			size = info.Size()
		}
		return err
	})
	if err != nil {
		return 0, o.fault(err)
	}
	return size, nil
}

// replaceFile writes a file beside path and renames it over path once it is on
// disk; the old one stands until then. The mode is the old file's, else 0644.
func replaceFile(path string, write func(*os.File) error) error {
	path = linkTarget(path) // a link goes on leading there
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	mode := os.FileMode(0o644)
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	err = write(f)
	for _, step := range []func() error{func() error { return f.Chmod(mode) }, f.Sync} {
		if err == nil {
			err = step()
		}
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// linkTarget follows the links of a file's name, to one that is not there yet too.
func linkTarget(path string) string {
	for range 40 { // as many as Linux follows
		to, err := os.Readlink(path)
		if err != nil {
			return path
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return path
}

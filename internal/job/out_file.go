package job

import (
	"errors"
	"fmt"
	"os"
)

// fileSink appends lines to a file of JSON lines. Every line leaves in one
// write, so that a crash cuts the last one at most, and the next run takes that
// one off again (facts/peer-faults.md 17).
type fileSink struct {
	o      *Output
	f      *os.File
	size   int64
	synced int64
	wrote  func(durable int64)
}

// syncEvery is how many bytes are written between two syncs. The journal is
// durable first in any case: what a crash takes from OUT is written again.
const syncEvery = 4 << 20

// openFile opens OUT for lines behind its first size bytes. seen is how long it
// was when it was looked at: one that another process has written since is not
// cut.
func (o *Output) openFile(size, seen int64, wrote func(int64)) (*fileSink, error) {
	f, err := os.OpenFile(o.Path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, o.fault(err)
	}
	if lockFile(f) {
		return nil, errors.Join(fmt.Errorf("output %s is being written by another process", o.Path), f.Close())
	}
	info, err := f.Stat()
	if err == nil && info.Size() != seen {
		return nil, errors.Join(fmt.Errorf("output %s was written by another process meanwhile", o.Path), f.Close())
	}
	if err == nil {
		err = f.Truncate(size)
	}
	if err != nil {
		return nil, errors.Join(o.fault(err), f.Close())
	}
	return &fileSink{o: o, f: f, size: size, synced: size, wrote: wrote}, nil
}

func (s *fileSink) put(_ int, line []byte) error {
	if _, err := s.f.Write(line); err != nil {
		_ = s.f.Truncate(s.size) // no part of a line stays behind
		return s.o.fault(err)
	}
	s.size += int64(len(line))
	if s.size-s.synced < syncEvery {
		return nil
	}
	return s.sync()
}

func (s *fileSink) sync() error {
	if err := s.f.Sync(); err != nil {
		return s.o.fault(err)
	}
	s.synced = s.size
	s.wrote(s.size)
	return nil
}

func (s *fileSink) close() error {
	err := s.sync()
	if e := s.f.Close(); err == nil && e != nil {
		err = s.o.fault(e)
	}
	return err
}

//go:build unix

package gateway

import (
	"errors"
	"os"
	"syscall"
)

// lockFile takes a file for this process until it is closed; held says that
// another has it. A file system that knows no locks has nobody.
func lockFile(f *os.File) (held bool) {
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// syncDir makes the names in a directory durable.
func syncDir(dir *os.File) error { return dir.Sync() }

//go:build unix

package lab

import (
	"errors"
	"os"
	"syscall"
)

// heldElsewhere takes the file for this process, and says whether another has it.
// A file system that cannot tell lets both.
func heldElsewhere(f *os.File) bool {
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

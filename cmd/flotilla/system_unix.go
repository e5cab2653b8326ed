//go:build linux || darwin

package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// fileLimit raises the number of files this process may have open as far as it
// may, and returns what it then is.
func fileLimit() (soft, hard uint64, err error) {
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err != nil {
		return 0, 0, fmt.Errorf("reading the limit on open files: %w", err)
	}
	if r.Cur < r.Max {
		raised := unix.Rlimit{Cur: r.Max, Max: r.Max}
		if unix.Setrlimit(unix.RLIMIT_NOFILE, &raised) == nil {
			r = raised
		}
	}
	return r.Cur, r.Max, nil
}

// freeDisk is the space an ordinary user may still fill, in bytes.
func freeDisk(dir string) (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, fmt.Errorf("reading the free space: %w", err)
	}
	return s.Bavail * uint64(s.Bsize), nil
}

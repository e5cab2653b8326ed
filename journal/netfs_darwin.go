package journal

import "golang.org/x/sys/unix"

// network says whether the file system that holds path is served by another
// machine (statfs(2), MNT_LOCAL): WAL would corrupt there.
func network(path string) bool {
	var s unix.Statfs_t
	return unix.Statfs(path, &s) == nil && s.Flags&unix.MNT_LOCAL == 0
}

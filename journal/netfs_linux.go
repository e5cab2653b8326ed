package journal

import "golang.org/x/sys/unix"

// network says whether the file system that holds path is served by another
// machine: shared memory and locks do not reach across it, so WAL would
// corrupt (sqlite.org/wal.html, "all processes must be on the same host").
// The numbers are statfs(2)'s.
func network(path string) bool {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return false
	}
	switch uint32(s.Type) {
	case unix.NFS_SUPER_MAGIC, unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC,
		unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.CEPH_SUPER_MAGIC, unix.CODA_SUPER_MAGIC,
		unix.V9FS_MAGIC, unix.OCFS2_SUPER_MAGIC, unix.FUSE_SUPER_MAGIC, lustre, gpfs:
		return true
	}
	return false
}

const (
	lustre = 0x0bd00bd0 // LL_SUPER_MAGIC of lustre_user.h
	gpfs   = 0x47504653 // "GPFS"
)

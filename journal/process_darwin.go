package journal

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of <sys/proc.h>.
const zombie = 5

// startOf reads when process pid began, in microseconds since 1970.
func startOf(pid int) (start int64, ok bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombie {
		return 0, false
	}
	t := info.Proc.P_starttime
	return t.Sec*1e6 + int64(t.Usec), true
}

func bootID() string {
	t, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return strconv.FormatInt(t.Sec, 10)
}

func pidSpace() string { return "" }

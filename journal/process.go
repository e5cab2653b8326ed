package journal

import (
	"os"
	"time"
)

// process says who wrote something, well enough to see later whether it lives.
type process struct {
	pid   int
	host  string
	boot  string // of the machine's kernel; empty: unknown
	space string // pid namespace; empty: unknown
	start int64  // when it began, in its system's unit; 0: unknown
}

// silence is how long a process whose pid cannot be looked up from here may
// show no sign of life before it is taken for dead. Every write and every
// renewed lease is a sign, and leases are renewed every few seconds.
const silence = 5 * time.Minute

func self() process {
	host, _ := os.Hostname()
	pid := os.Getpid()
	start, _ := startOf(pid)
	return process{pid: pid, host: host, boot: bootID(), space: pidSpace(), start: start}
}

// sees says whether me can look up p's pid: same machine, same namespace.
func (me process) sees(p process) bool {
	return me.host == p.host && me.space == p.space
}

// alive says whether p, last heard of at seen, still runs. A pid that was given
// to another process since has another start.
func (me process) alive(p process, seen, now time.Time) bool {
	if !me.sees(p) {
		return now.Sub(seen) < silence
	}
	if me.boot != p.boot {
		return false
	}
	start, ok := startOf(p.pid)
	return ok && start == p.start
}

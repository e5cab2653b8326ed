package journal

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// startOf reads when process pid began, in clock ticks since boot (proc(5),
// /proc/pid/stat field 22). ok is false when there is none, or only its corpse.
func startOf(pid int) (start int64, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, false
	}
	// The second field is the program's name in parentheses and may hold
	// anything, so fields are counted from the last one.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return 0, false
	}
	start, err = strconv.ParseInt(fields[19], 10, 64)
	return start, err == nil
}

func bootID() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return strings.TrimSpace(string(id))
}

// pidSpace names the pid namespace: a container may share the file and even
// the host's name with others, but not their pids.
func pidSpace() string {
	space, _ := os.Readlink("/proc/self/ns/pid")
	return space
}

package journal

import (
	"sync"
	"time"
)

// living are the proc rows that open journals of this process write under. A
// row with our own pid that is not among them was left by a Close that could
// not be written (a full disk): nobody goes on under it.
var living = struct {
	sync.Mutex
	rows map[livingRow]bool
}{rows: map[livingRow]bool{}}

type livingRow struct {
	path string
	proc int64
}

func (j *Journal) setLiving(proc int64, lives bool) {
	living.Lock()
	defer living.Unlock()
	if j.path == memoryPath {
		return // nobody else can see its rows
	}
	if lives {
		living.rows[livingRow{j.path, proc}] = true
		return
	}
	delete(living.rows, livingRow{j.path, proc})
}

// lives says whether the process of a proc row goes on.
func (j *Journal) lives(proc int64, p process, seen, now time.Time) bool {
	if p == j.me && j.path != memoryPath {
		living.Lock()
		defer living.Unlock()
		return living.rows[livingRow{j.path, proc}]
	}
	return j.me.alive(p, seen, now)
}

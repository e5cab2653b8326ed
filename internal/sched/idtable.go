package sched

// idTable maps ids to slots by linear probing. A Go map would do but for its
// allocations when entries come and go for ever.
type idTable struct {
	keys  []int64
	slots []int32 // slot + 1; 0: empty
	n     int
}

func (t *idTable) home(key int64) int {
	h := uint64(key) * 0x9e3779b97f4a7c15
	return int(h>>32) & (len(t.keys) - 1)
}

func (t *idTable) get(key int64) (int32, bool) {
	if len(t.keys) == 0 {
		return 0, false
	}
	for i := t.home(key); t.slots[i] != 0; i = (i + 1) & (len(t.keys) - 1) {
		if t.keys[i] == key {
			return t.slots[i] - 1, true
		}
	}
	return 0, false
}

// put adds a key that is not there yet.
func (t *idTable) put(key int64, slot int32) {
	if 2*(t.n+1) > len(t.keys) {
		t.grow()
	}
	i := t.home(key)
	for t.slots[i] != 0 {
		i = (i + 1) & (len(t.keys) - 1)
	}
	t.keys[i], t.slots[i] = key, slot+1
	t.n++
}

// del removes a key and closes the gap, so that no tombstones gather.
func (t *idTable) del(key int64) {
	if len(t.keys) == 0 {
		return
	}
	mask := len(t.keys) - 1
	i := t.home(key)
	for ; t.keys[i] != key || t.slots[i] == 0; i = (i + 1) & mask {
		if t.slots[i] == 0 {
			return
		}
	}
	t.n--
	for j := (i + 1) & mask; t.slots[j] != 0; j = (j + 1) & mask {
		if h := t.home(t.keys[j]); (j-h)&mask >= (j-i)&mask {
			t.keys[i], t.slots[i] = t.keys[j], t.slots[j]
			i = j
		}
	}
	t.slots[i] = 0
}

func (t *idTable) grow() {
	keys, slots := t.keys, t.slots
	n := max(64, 2*len(keys))
	t.keys, t.slots, t.n = make([]int64, n), make([]int32, n), 0
	for i, s := range slots {
		if s != 0 {
			t.put(keys[i], s-1)
		}
	}
}

package plan

// flights is a heap of flights by (due time, attempt) that can take any of
// them out. Of several due at one instant the older attempt's comes first, as
// a Fleet orders them.
type flights []*flight

func (h flights) less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].attempt < h[j].attempt
}

func (h flights) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i, j
}

func (h *flights) push(f *flight) {
	f.pos = len(*h)
	*h = append(*h, f)
	h.up(f.pos)
}

func (h *flights) pop() *flight {
	f := (*h)[0]
	h.drop(f)
	return f
}

// drop takes a flight out wherever it stands; one that is not there stays out.
func (h *flights) drop(f *flight) {
	i, last := f.pos, len(*h)-1
	if i < 0 {
		return
	}
	h.swap(i, last)
	(*h)[last] = nil
	*h = (*h)[:last]
	f.pos = -1
	if i < last {
		h.down(i)
		h.up(i)
	}
}

func (h flights) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h flights) down(i int) {
	for {
		least := i
		for c := 2*i + 1; c <= 2*i+2 && c < len(h); c++ {
			if h.less(c, least) {
				least = c
			}
		}
		if least == i {
			return
		}
		h.swap(i, least)
		i = least
	}
}

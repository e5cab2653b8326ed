package plan

// flights is a heap of flights by (due time, order of pushing).
type flights []*flight

func (h flights) less(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}

func (h *flights) push(f *flight) {
	*h = append(*h, f)
	h.up(len(*h) - 1)
}

func (h *flights) pop() *flight {
	f := (*h)[0]
	h.removeAt(0)
	return f
}

// drop takes a flight out wherever it stands.
func (h *flights) drop(f *flight) {
	for i, g := range *h {
		if g == f {
			h.removeAt(i)
			return
		}
	}
}

func (h *flights) removeAt(i int) {
	last := len(*h) - 1
	(*h)[i] = (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
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
		h[i], h[parent] = h[parent], h[i]
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
		h[i], h[least] = h[least], h[i]
		i = least
	}
}

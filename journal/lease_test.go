package journal

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParts(t *testing.T) {
	for _, tt := range []struct {
		limit int
		wants []int
		parts []int
	}{
		{100, []int{300}, []int{100}},
		{100, []int{30}, []int{30}},
		{100, []int{300, 300}, []int{50, 50}},
		{100, []int{300, 20}, []int{80, 20}},
		{100, []int{300, 300, 300}, []int{34, 33, 33}},
		{100, []int{10, 300, 40}, []int{10, 50, 40}},
		{2, []int{5, 5, 5}, []int{1, 1, 0}},
		{0, []int{5, 5}, []int{0, 0}},
		{100, []int{0, 0}, []int{0, 0}},
	} {
		all := make([]holder, len(tt.wants))
		for i, want := range tt.wants {
			all[i].want = want
		}
		if diff := cmp.Diff(tt.parts, parts(all, tt.limit)); diff != "" {
			t.Errorf("%d for %v: %s", tt.limit, tt.wants, diff)
		}
	}
}

// Max-min fairness: all is given out that is wanted, nobody gets more than it
// wants, and who gets less than it wants has, but for the one that does not
// divide, no less than any other.
func TestPartsAreFair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(0, 200).Draw(rt, "limit")
		var all []holder
		sum := 0
		for _, want := range rapid.SliceOfN(rapid.IntRange(0, 150), 1, 8).Draw(rt, "wants") {
			all = append(all, holder{want: want})
			sum += want
		}
		given := 0
		part := parts(all, limit)
		for i := range part {
			given += part[i]
			for k := range part {
				if part[i] > all[i].want || part[i] < all[i].want && part[k] > part[i]+1 {
					rt.Fatalf("%v of %d for %v", part, limit, all)
				}
			}
		}
		if given != min(limit, sum) {
			rt.Fatalf("%d of %d given for %v", given, limit, all)
		}
	})
}

// clock is the real time of a test.
type clock struct{ now time.Time }

func (c *clock) open(t *testing.T, path string) *Journal {
	t.Helper()
	j, err := Open(t.Context(), path, Options{Now: func() time.Time { return c.now }, volatile: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j
}

// die is what kill -9 does, as others see it.
func (j *Journal) die() { j.setLiving(j.proc, false) }

// member is a process that keeps to the contract of Lease.
type member struct {
	j       *Journal
	share   Share
	want    int
	renewed time.Time
	dead    bool
}

const ttl = 30 * time.Second

func (m *member) renew(rt *rapid.T, t *testing.T, limit int, now time.Time) {
	s, err := m.j.Lease(t.Context(), "pot", limit, m.want, ttl)
	if err != nil {
		rt.Fatal(err)
	}
	m.share, m.renewed = s, now
}

func (m *member) release(rt *rapid.T, t *testing.T, keep int) {
	if err := m.j.Release(t.Context(), "pot", keep); err != nil {
		rt.Fatal(err)
	}
	m.share.Held = min(m.share.Held, keep)
}

// held is what a member may use now: nothing when it has not renewed in time.
func (m *member) held(now time.Time) int {
	if m.dead || now.Sub(m.renewed) >= ttl {
		return 0
	}
	return m.share.Held
}

// TestLeasesNeverExceedTheCap lets processes want, renew, shrink, fall silent
// and die in any order: what they may use at any moment is never above the cap,
// and when they settle down each has what it wants, or its part.
func TestLeasesNeverExceedTheCap(t *testing.T) {
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		round++
		limit := rapid.IntRange(1, 120).Draw(rt, "limit")
		c := &clock{time.Unix(1_800_000_000, 0)}
		path := filepath.Join(t.TempDir(), fileName)
		var all []*member
		join := func() { all = append(all, &member{j: c.open(t, path), renewed: c.now.Add(-ttl)}) }
		join()
		join()
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			m := all[rapid.IntRange(0, len(all)-1).Draw(rt, "who")]
			switch op := rapid.IntRange(0, 9).Draw(rt, "op"); {
			case op == 0 && len(all) < 4:
				join()
			case op == 1:
				c.now = c.now.Add(time.Duration(rapid.IntRange(0, 40).Draw(rt, "seconds")) * time.Second)
			case op == 2 && !m.dead && len(all) > 1 && m.j.proc != 0:
				m.dead = true
				m.j.die()
			case op <= 5 && !m.dead:
				m.release(rt, t, max(m.share.Target, rapid.IntRange(0, limit).Draw(rt, "keep")))
			case !m.dead:
				m.want = rapid.IntRange(0, 2*limit).Draw(rt, "want")
				m.renew(rt, t, limit, c.now)
			}
			checkHeld(rt, all, limit, c.now)
		}
		settleDown(rt, t, all, limit, c.now)
		for _, m := range all {
			_ = m.j.Close() // the dead cannot say goodbye
		}
	})
}

func checkHeld(rt *rapid.T, all []*member, limit int, now time.Time) (held int) {
	for _, m := range all {
		held += m.held(now)
	}
	if held > limit {
		rt.Fatalf("%d slots of %d are held", held, limit)
	}
	return held
}

func settleDown(rt *rapid.T, t *testing.T, all []*member, limit int, now time.Time) {
	wanted := 0
	for _, m := range all {
		if !m.dead {
			wanted += m.want
		}
	}
	for range 3 {
		for _, m := range all {
			if m.dead {
				continue
			}
			m.renew(rt, t, limit, now)
			m.release(rt, t, m.share.Target)
			checkHeld(rt, all, limit, now)
		}
	}
	if held := checkHeld(rt, all, limit, now); held < min(limit, wanted) {
		rt.Fatalf("%d slots of %d are held, %d are wanted", held, limit, wanted)
	}
	var living []holder
	var whose []*member
	for _, m := range all {
		if !m.dead {
			living, whose = append(living, holder{want: m.want}), append(whose, m)
		}
	}
	for i, part := range parts(living, limit) {
		if m := whose[i]; m.share.Held < part-1 { // what does not divide goes to those who came first
			rt.Fatalf("member %d wants %d of %d and has %d, its part is %d", i, m.want, limit, m.share.Held, part)
		}
	}
}

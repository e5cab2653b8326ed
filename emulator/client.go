package emulator

import "time"

// Client is someone who uses the provider inside the model's time: a
// colleague of the scenario, or another scheduler that a test plugs in.
type Client interface {
	// Next is when it next has something to do, later than the last Act unless
	// that is what it wants; [Never]: nothing more.
	Next() time.Duration
	// Act does what is due at now. It may call Arrive, Finish, Cancel and
	// Release, at now.
	Act(now time.Duration, m *Model)
}

// Join lets a client act from now on. Clients due at the same instant act in
// the order of joining.
func (m *Model) Join(c Client) { m.clients = append(m.clients, c) }

func (m *Model) nextClient() (Client, time.Duration) {
	var first Client
	at := Never
	for _, c := range m.clients {
		if t := c.Next(); t < at {
			first, at = c, t
		}
	}
	return first, at
}

// touch sets a lane's colleagues to work when we first use it.
func (m *Model) touch(now time.Duration, l *lane, other bool) {
	if l.touched || other {
		return
	}
	l.touched = true
	for i := range l.org.Colleagues {
		c := l.org.Colleagues[i]
		if c.Pool == "" || c.Pool == l.pool {
			m.Join(newColleague(m, l, i, c, now))
		}
	}
}

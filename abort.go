package flotilla

import "time"

// Abort breaks off what every stream has in flight and sends nothing more: for
// a second Ctrl-C, when nobody wants to wait. Outcomes that are unknown then
// are in doubt, as after a crash, but known to be. Carry and Dispatch end soon
// after.
func (f *Fleet) Abort() {
	f.inbox.put(message{run: func(now time.Duration) {
		for _, s := range f.streams {
			if s.ended() {
				continue
			}
			f.halt(now, s, Interrupted, nil)
			s.aborted = true
			f.abortAll(s)
		}
	}})
}

package dashboard

import (
	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// stateWaiting is a job that a gateway takes up again by itself.
const stateWaiting = "waiting"

// heldBy is what keeps a job from sending its next row: a cap, as
// flotilla.StreamState.HeldBy names it, or what the gateway says of one that it
// will take up again (Config.Held). Empty: nothing, or it is not known.
func (d *jobDesk) heldBy(info *journal.JobInfo, s *flotilla.Snapshot) string {
	if s != nil {
		for i := range s.Streams {
			if st := &s.Streams[i]; st.Job == info.ID && st.HeldBy != "" {
				return st.HeldBy
			}
		}
	}
	if d.held == nil || info.State == journal.Finished {
		return ""
	}
	return d.held(info.ID)
}

// heldBy notes what holds the job: one that nobody runs waits then.
func (j *jobJSON) heldBy(what string) {
	j.Held = some(what)
	if what != "" && (j.State == journal.Stopped || j.State == journal.Interrupted) {
		j.State, j.Ended = stateWaiting, nil
	}
}

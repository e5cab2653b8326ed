package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

type jobJSON struct {
	Key      string  `json:"key"`
	Kind     string  `json:"kind"`
	Client   *string `json:"client"`
	Command  string  `json:"command"`
	Emulated *string `json:"emulated"` // null: the real provider

	N         int `json:"n"` // of a serve job: so far
	Succeeded int `json:"succeeded"`
	Errored   int `json:"errored"`
	Expired   int `json:"expired"`
	Canceled  int `json:"canceled"`
	Pending   int `json:"pending"`
	InBatches int `json:"in_batches"` // of pending: rows at the provider

	State    string          `json:"state"`        // running, waiting, paused, canceling, interrupted, stopped or finished
	Held     *string         `json:"held"`         // what keeps its next row from going, as Config.Held names it; null: nothing, or not known
	Signal   *string         `json:"signal"`       // pause or cancel; null: nothing was asked of it
	Spent    flotilla.Money  `json:"spent_usd"`    // settled and reserved: what counts against a cap
	Settled  flotilla.Money  `json:"settled_usd"`  // by what has ended, worst cases in doubt included
	Reserved flotilla.Money  `json:"reserved_usd"` // for what is under way, at its worst
	Cap      *flotilla.Money `json:"cap_usd"`      // null: none, or not known

	Created time.Time  `json:"created"`
	Ended   *time.Time `json:"ended"`
	ETA     *time.Time `json:"eta"`
	Rate    *float64   `json:"rate_per_min"` // rows, of the last minute

	Controllable bool `json:"controllable"` // it can be paused, canceled, and given a cap
}

// signalNames are what a person asked of a job.
var signalNames = map[journal.Signal]string{journal.Pause: "pause", journal.Cancel: "cancel"}

// controllable says that a process would read what is asked of the job.
func controllable(info *journal.JobInfo) bool {
	return info.Holder != nil && info.Kind != journal.KindServe
}

// list is every job that is shown.
func (d *jobDesk) list(ctx context.Context, now time.Time, s *flotilla.Snapshot, speed float64) ([]jobJSON, error) {
	infos, err := d.jobs(ctx, now)
	if err != nil {
		return nil, err
	}
	out := make([]jobJSON, 0, len(infos))
	for i := range infos {
		j, err := d.job(ctx, &infos[i], now, s, speed)
		if err != nil {
			return out, err
		}
		out = append(out, j)
	}
	return out, nil
}

// job is one job as it stands.
func (d *jobDesk) job(ctx context.Context, info *journal.JobInfo, now time.Time, s *flotilla.Snapshot, speed float64) (jobJSON, error) {
	c, err := d.counts(ctx, info, now)
	if err != nil {
		return jobJSON{}, err
	}
	j := jobJSON{
		Key: info.Key, Kind: info.Kind, Client: some(info.Client), Command: info.Command, Emulated: some(info.Realm.Emulated), N: info.N,
		State: info.Standing(), Signal: some(signalNames[info.Signal]), Spent: info.Spent, Settled: info.Spent - info.Reserved, Reserved: info.Reserved, Cap: capOf(info, s),
		Created: info.Created.UTC(), Ended: someTime(info.Ended), Controllable: controllable(info),
	}
	j.count(c)
	j.heldBy(d.heldBy(info, s))
	if info.Holder != nil {
		d.goesOn(&j, info, now, s, speed)
	}
	return j, nil
}

// count fills in how many rows there are by outcome.
func (j *jobJSON) count(c [numOutcomes]int) {
	j.Succeeded, j.Errored, j.Expired, j.Canceled, j.Pending = c[journal.Succeeded], c[journal.Errored], c[journal.Expired], c[journal.Canceled], c[journal.Pending]
}

// goesOn fills in what is known of a job that runs.
func (d *jobDesk) goesOn(j *jobJSON, info *journal.JobInfo, now time.Time, s *flotilla.Snapshot, speed float64) {
	p := &d.view(info.ID, now).pace
	p.look(now, j.N-j.Pending)
	rate, known := p.perMinute()
	if known {
		j.Rate = &rate
	}
	t := timeline{real: now, speed: speed}
	if s != nil {
		t.scaled = s.At
	}
	b := batchedOf(s, info.ID, t)
	j.InBatches = b.rows
	if s == nil && info.Batches > 0 {
		b.rows, b.known = j.Pending, false // another process's: when they end is not known here
	}
	if j.State == journal.Running && info.Kind != journal.KindServe {
		j.ETA = someTime(eta(now, j.Pending, rate, known, b))
	}
}

// capOf is the cap that a job runs under: what its stream says, else what a
// person set, else that of its last run.
func capOf(info *journal.JobInfo, s *flotilla.Snapshot) *flotilla.Money {
	if s != nil {
		for i := range s.Streams {
			if st := &s.Streams[i]; st.Job == info.ID && !st.Line {
				return capMoney(st.Cap)
			}
		}
	}
	if info.Cap != nil {
		return info.Cap
	}
	var t struct {
		Cap *flotilla.Money `json:"cap_usd"`
	}
	if json.Unmarshal(info.Totals, &t) != nil {
		return nil
	}
	return t.Cap
}

// jobDetail is everything that is known of one job.
type jobDetail struct {
	jobJSON
	Provider    string          `json:"provider"`
	Inputs      []string        `json:"inputs"`
	Outs        []string        `json:"outs"`
	Runs        int             `json:"runs"` // invocations
	OpenBatches int             `json:"open_batches"`
	PID         *int            `json:"pid"` // of the process that runs it
	Host        *string         `json:"host"`
	StopReasons map[string]int  `json:"stop_reasons"`
	Totals      json.RawMessage `json:"totals"` // the summary of its last run; null: it left none
}

func (d *Dashboard) serveJob(w http.ResponseWriter, r *http.Request) {
	info, ok := d.find(w, r)
	if !ok {
		return
	}
	now := d.cfg.Now()
	j, err := d.jobs.job(r.Context(), &info, now, d.seen.Load(), d.cfg.Speed)
	if err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	t := &d.jobs.view(info.ID, now).tally
	if err := t.catchUp(r.Context(), d.cfg.Journal, &info); err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	counts, reasons := t.stops()
	j.count(counts) // of the moment of the reasons: the two are read side by side
	out := jobDetail{
		jobJSON: j, Provider: info.Realm.Provider, Inputs: append([]string{}, info.Inputs...), Outs: []string{}, Runs: info.Runs,
		OpenBatches: info.Batches, StopReasons: reasons, Totals: info.Totals,
	}
	for _, o := range info.Outs {
		out.Outs = append(out.Outs, o.Path)
	}
	if info.Holder != nil {
		out.PID, out.Host = some(info.Holder.PID), some(info.Holder.Host)
	}
	writeJSON(w, out)
}

// find is the job that a path names; where there is none, that is answered.
func (d *Dashboard) find(w http.ResponseWriter, r *http.Request) (journal.JobInfo, bool) {
	info, err := d.cfg.Journal.Find(r.Context(), r.PathValue("key"))
	var none *journal.NoJobError
	switch {
	case errors.As(err, &none):
		writeError(w, http.StatusNotFound, err.Error())
	case err != nil:
		writeError(w, http.StatusInternalServerError, err.Error())
	}
	return info, err == nil
}

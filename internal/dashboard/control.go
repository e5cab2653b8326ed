package dashboard

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// signals are the changes that leave word for the process that runs a job.
var signals = map[string]journal.Signal{"pause": journal.Pause, "resume": journal.Go, "cancel": journal.Cancel}

// changeJob pauses, resumes or cancels a job, or gives it another cap.
func (d *Dashboard) changeJob(w http.ResponseWriter, r *http.Request) {
	verb := r.PathValue("verb")
	signal, known := signals[verb]
	if !known && verb != "cap" {
		writeError(w, http.StatusNotFound, "a job can be paused, resumed, canceled, or given another cap")
		return
	}
	info, ok := d.find(w, r)
	if !ok {
		return
	}
	if !controllable(&info) {
		writeError(w, http.StatusConflict, outOfReach(&info))
		return
	}
	if verb == "cap" {
		d.changeCap(w, r, &info)
		return
	}
	d.changed(w, d.cfg.Journal.Signal(r.Context(), info.ID, signal))
}

// outOfReach says why nobody can change a job.
func outOfReach(info *journal.JobInfo) string {
	if info.Holder == nil {
		return "job " + info.Key + " is not running: it is " + info.Standing()
	}
	return "job " + info.Key + " is the calls of a gateway's client, which take their own course: pause their lanes, or give the client another budget"
}

// mostDollars is more than anybody means, and far below what overflows.
const mostDollars = 1e7

func (d *Dashboard) changeCap(w http.ResponseWriter, r *http.Request, info *journal.JobInfo) {
	var wish struct {
		USD *float64 `json:"usd"`
	}
	if err := readBody(r, &wish); err != nil {
		writeError(w, http.StatusBadRequest, err.Error())
		return
	}
	// A cap that rounds to nothing would be none at all.
	if wish.USD == nil || math.IsNaN(*wish.USD) || *wish.USD > mostDollars || flotilla.USD(*wish.USD) <= 0 {
		writeError(w, http.StatusBadRequest, "usd is a number of dollars above 0")
		return
	}
	d.changed(w, d.cfg.Journal.SetCap(r.Context(), info.ID, flotilla.USD(*wish.USD)))
}

// readBody reads one JSON value and nothing after it.
func readBody(r *http.Request, into any) error {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return errors.New("the body is not what is needed: " + err.Error())
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body is more than one JSON value")
	}
	return nil
}

// changed answers a change that was made, or was not.
func (d *Dashboard) changed(w http.ResponseWriter, err error) {
	if err != nil {
		writeError(w, http.StatusConflict, err.Error())
		return
	}
	d.jobs.relistNow()
	w.WriteHeader(http.StatusNoContent)
}

// changeLane holds a lane or lets it go on.
func (d *Dashboard) changeLane(w http.ResponseWriter, r *http.Request) {
	verb := r.PathValue("verb")
	if d.cfg.Pause == nil || verb != "pause" && verb != "resume" {
		writeError(w, http.StatusNotFound, "a lane can be paused and resumed, where a fleet runs")
		return
	}
	d.changed(w, d.cfg.Pause(r.PathValue("org"), r.PathValue("pool"), r.PathValue("tier"), verb == "pause"))
}

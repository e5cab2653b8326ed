package emulator

import (
	"encoding/json"
	"io"
	"net/http"
	"time"
)

// readControl decodes the JSON of a control request; an empty body leaves v as
// it is. Unknown fields are errors: a misspelt fault would strike never.
func readControl(r *http.Request, v any) *apiError {
	d := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil && err != io.EOF {
		return invalid("%s", err)
	}
	return nil
}

func (s *Server) health(rw http.ResponseWriter, _ *http.Request) {
	s.mark(rw.Header(), s.world.Load(), 0)
	writeJSON(rw, map[string]string{"status": "ok"})
}

func (s *Server) addFault(rw http.ResponseWriter, r *http.Request) {
	w := s.world.Load()
	s.mark(rw.Header(), w, 0)
	var spec faultSpec
	e := readControl(r, &spec)
	if e == nil {
		e = spec.check(w.model)
	}
	if e != nil {
		writeError(rw, e)
		return
	}
	w.mu.Lock()
	id := w.faults.add(w.model, s.now(w), spec)
	w.mu.Unlock()
	writeJSON(rw, map[string]string{"id": id})
}

func (s *Server) dropFault(rw http.ResponseWriter, r *http.Request) {
	w := s.world.Load()
	s.mark(rw.Header(), w, 0)
	id := r.PathValue("id")
	w.mu.Lock()
	found := w.faults.drop(id)
	w.mu.Unlock()
	if !found {
		writeError(rw, notFound("fault: %s", id))
		return
	}
	writeJSON(rw, map[string]string{"id": id})
}

// reset begins a new world: full buckets, nothing counted, no faults. The
// clock goes on.
func (s *Server) reset(rw http.ResponseWriter, r *http.Request) {
	s.control.Lock()
	defer s.control.Unlock()
	old := s.world.Load()
	s.mark(rw.Header(), old, 0)
	want := struct {
		Seed     uint64 `json:"seed"`
		Scenario string `json:"scenario"`
	}{old.model.seed, old.model.sc.Name}
	e := readControl(r, &want)
	sc := old.model.sc
	if e == nil && want.Scenario != sc.Name {
		sc, e = s.byName(want.Scenario)
	}
	if e != nil {
		writeError(rw, e)
		return
	}
	began := s.clock.now()
	w, err := newWorld(sc, want.Seed, began, s.wall(began))
	if err != nil {
		writeError(rw, invalid("scenario: %s", err))
		return
	}
	s.world.Store(w)
	s.mark(rw.Header(), w, 0)
	writeJSON(rw, want)
}

func (s *Server) byName(name string) (Scenario, *apiError) {
	if name == s.scenario.Name {
		return s.scenario, nil
	}
	sc, err := Named(name)
	if err != nil {
		return sc, notFound("scenario: %s", err)
	}
	return sc, nil
}

// maxSpeed bounds the clock's speed: at a million, scaled time lasts for two and
// a half hours of real time before a Duration is full.
const maxSpeed = 1_000_000

func (s *Server) setClock(rw http.ResponseWriter, r *http.Request) {
	s.control.Lock()
	defer s.control.Unlock()
	w := s.world.Load()
	s.mark(rw.Header(), w, 0)
	var want struct {
		Speed float64 `json:"speed"`
	}
	e := readControl(r, &want)
	if e == nil && !(want.Speed > 0 && want.Speed <= maxSpeed) {
		e = invalid("speed: Input should be greater than 0 and at most %d", maxSpeed)
	}
	if e != nil {
		writeError(rw, e)
		return
	}
	s.clock.setSpeed(want.Speed)
	s.announce(want.Speed)
	s.mark(rw.Header(), w, 0)
	writeJSON(rw, struct {
		Speed float64 `json:"speed"`
		Now   string  `json:"now"`
	}{want.Speed, s.Now().Format(time.RFC3339Nano)})
}

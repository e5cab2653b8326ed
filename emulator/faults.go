package emulator

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"
)

// faultSpec is a fault as POST /emulator/faults states it (interface.md
// "Emulator"). Times are scaled; what is left out means everything.
type faultSpec struct {
	Org    string   `json:"org"`
	Method string   `json:"method"` // "": any
	Path   string   `json:"path"`   // see [faultSpec.covers]
	Share  *float64 `json:"share"`
	AfterS float64  `json:"after_s"`
	ForS   float64  `json:"for_s"` // 0: for good
	Count  *int64   `json:"count"` // null: any number
	Kind   string   `json:"kind"`
	Status int      `json:"status"`
	// Performed lets a status fault of a batch endpoint do what was asked and
	// replace the answer alone, as a proxy that gives up does.
	Performed bool `json:"performed"`

	Body    string            `json:"body"`
	Headers map[string]string `json:"headers"`
	DelayMS float64           `json:"delay_ms"`
	Factor  float64           `json:"factor"` // 0: usualLie
}

// usualLie is how much too high the headers of scenario lying-headers are.
const usualLie = 1.67

var faultKinds = []string{"status", "drop_before", "drop_after", "truncate", "delay", "strip_headers", "lie_headers"}

func (f *faultSpec) check(m *Model) *apiError {
	if !slices.Contains(faultKinds, f.Kind) {
		return invalid("kind: Input should be one of %q", faultKinds)
	}
	if _, ok := m.OrgIndex(f.Org); f.Org != "" && !ok {
		return notFound("org: %s", f.Org)
	}
	if f.Share != nil && (*f.Share < 0 || *f.Share > 1) {
		return invalid("share: Input should be between 0 and 1")
	}
	if f.Kind == "status" && (f.Status < 200 || f.Status > 599) {
		return invalid("status: Input should be between 200 and 599")
	}
	if f.Factor < 0 {
		return invalid("factor: Input should be greater than 0")
	}
	return f.checkTimes()
}

// longestFault bounds a fault's times, so that sums of them stay a Duration.
const longestFault = 366 * 24 * 3600 // seconds

func (f *faultSpec) checkTimes() *apiError {
	for _, t := range [...]struct {
		name    string
		seconds float64
	}{{"after_s", f.AfterS}, {"for_s", f.ForS}, {"delay_ms", f.DelayMS / 1000}} {
		if t.seconds < 0 || t.seconds > longestFault {
			return invalid("%s: Input should be between 0 and a year", t.name)
		}
	}
	if f.Kind == "delay" && f.DelayMS == 0 {
		return invalid("delay_ms: Input should be greater than 0")
	}
	return nil
}

// fault is one at work.
type fault struct {
	faultSpec
	id          string
	nth         uint64
	org         int // -1: all
	from, until time.Duration
	hits, asked int64
}

// faults are those of a world, in the order of making.
type faults struct {
	made uint64
	list []*fault
}

func (fs *faults) add(m *Model, now time.Duration, spec faultSpec) string {
	fs.made++
	f := &fault{faultSpec: spec, id: "f" + strconv.FormatUint(fs.made, 10), nth: fs.made, org: -1, until: Never}
	if i, ok := m.OrgIndex(spec.Org); ok && spec.Org != "" {
		f.org = i
	}
	f.from = now + seconds(spec.AfterS)
	if spec.ForS > 0 {
		f.until = f.from + seconds(spec.ForS)
	}
	fs.list = append(fs.list, f)
	return f.id
}

func (fs *faults) drop(id string) bool {
	n := len(fs.list)
	fs.list = slices.DeleteFunc(fs.list, func(f *fault) bool { return f.id == id })
	return len(fs.list) < n
}

// strikes says whether the fault hits a request; the draw is keyed as all of a
// body's are, so a retry draws anew.
func (f *fault) strikes(now time.Duration, r *http.Request, org int, k key) bool {
	switch {
	case !f.covers(r.Method, r.URL.Path), f.org >= 0 && f.org != org,
		now < f.from, now >= f.until, f.Count != nil && f.hits >= *f.Count:
		return false
	}
	if f.Share != nil && k.uniform(drawFault+purpose(f.nth)<<8) >= *f.Share {
		return false
	}
	f.hits++
	return true
}

// strike is what the faults do to one request; nil: nothing.
type strike struct {
	status *fault // answers in place of the API
	fault  Fault
	late   time.Duration
	strip  bool
	factor float64
}

// strike asks all faults about a request. The world is locked.
func (w *world) strike(now time.Duration, r *http.Request, org int, hash [16]byte) *strike {
	if len(w.faults.list) == 0 {
		return nil
	}
	nth := w.model.Arrivals(hash)
	var s strike
	for _, f := range w.faults.list {
		k := bodyKey(w.model.seed, hash, nth)
		if hash == [16]byte{} {
			f.asked++
			k = key{w.model.seed, uint64(f.asked)}
		}
		if f.strikes(now, r, org, k) {
			s.add(f)
		}
	}
	return &s
}

func (s *strike) add(f *fault) {
	switch f.Kind {
	case "status":
		s.status = f
	case "drop_before":
		s.fault = DropBefore
	case "drop_after":
		s.fault = DropAfter
	case "truncate":
		s.fault = Truncate
	case "delay":
		s.late += seconds(f.DelayMS / 1000)
	case "strip_headers":
		s.strip = true
	case "lie_headers":
		s.factor = cmp.Or(f.Factor, usualLie)
	}
}

// ends says whether the request never reaches the API.
func (s *strike) ends() bool { return s != nil && s.status != nil }

func (s *strike) forced() Fault {
	if s == nil {
		return NoFault
	}
	return s.fault
}

func (s *strike) delay() time.Duration {
	if s == nil {
		return 0
	}
	return s.late
}

// lie is the reading as the client is to see it.
func (s *strike) lie(r Reading) Reading {
	switch {
	case s == nil:
	case s.strip:
		r.Known = false
	case s.factor > 0:
		for d := range NumDims {
			r.Limit[d] = int64(float64(r.Limit[d]) * s.factor)
			r.Remaining[d] = int64(float64(r.Remaining[d]) * s.factor)
		}
	}
	return r
}

// class is how the stats count an injected status.
func (s *strike) class() Class {
	switch s.status.Status {
	case 401:
		return Unauthorized
	case 429:
		return Steady
	case 529:
		return Overload
	case 400, 404, 413:
		return Invalid
	}
	return Injected
}

// answer sends the status fault's response: its body as given, or an error of
// the API's shape for that status.
func (s *strike) answer(rw http.ResponseWriter) {
	f, h := s.status, rw.Header()
	h["Content-Type"] = jsonType
	for _, name := range slices.Sorted(maps.Keys(f.Headers)) {
		h.Set(name, f.Headers[name])
	}
	body := []byte(f.Body)
	if f.Body == "" {
		body = (&apiError{kind: kindOf(f.Status), message: messageOf(f.Status)}).body(h.Get("Request-Id"))
	}
	h["Content-Length"] = []string{strconv.Itoa(len(body))}
	rw.WriteHeader(f.Status)
	_, _ = rw.Write(body)
}

// kindOf is the error type of a status (facts/claude-api.md 2.2).
func kindOf(status int) string {
	switch status {
	case 401:
		return "authentication_error"
	case 402:
		return "billing_error"
	case 403:
		return "permission_error"
	case 404:
		return "not_found_error"
	case 409:
		return "conflict_error"
	case 413:
		return "request_too_large"
	case 429:
		return "rate_limit_error"
	case 504:
		return "timeout_error"
	case 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}

func messageOf(status int) string {
	switch status {
	case 429:
		return plainText
	case 529:
		return "Overloaded"
	case 500:
		return "Internal server error"
	}
	if t := http.StatusText(status); t != "" {
		return t
	}
	return "Error " + strconv.Itoa(status)
}

// struck lets faults hit an endpoint other than Messages and batches; it says whether they
// answered.
func (s *Server) struck(rw http.ResponseWriter, r *http.Request, w *world, org int) bool {
	w.mu.Lock()
	hit := w.strike(s.now(w), r, org, [16]byte{})
	w.mu.Unlock()
	if d := hit.delay(); d > 0 && !s.clock.sleep(r.Context(), s.clock.now()+d) {
		return true
	}
	switch {
	case hit.ends():
		hit.answer(rw)
	case hit.forced() != NoFault:
		breakConn(rw)
	default:
		return false
	}
	return true
}

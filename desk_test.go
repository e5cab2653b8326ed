package flotilla_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flotilla-llm/flotilla"
)

// desk answers in the place of the provider, batches and messages, by a script.
// It keeps what it was given, so that a test can compare. Batches end after a
// while; their results are shuffled.
type desk struct {
	after   time.Duration // from create to end
	cancels time.Duration // from cancel to end
	longest int           // bytes of a create that it takes; 0: any

	// Scripts; nil: nothing happens. They are called one at a time.
	scripts sync.Mutex
	create  func(n int) (status int, lose bool)               // of the nth create; lose: it is made and the answer lost
	get     func(id string, n int) (status int)               // of the nth get or cancel of the batch
	results func(id string, n int, body []byte) ([]byte, int) // of the nth download; status 0: 200
	answer  func(body string) (kind, content string)          // result of a row; kind empty: succeeded
	message func(body string) (status int, answer string)     // of a call by sync; status 0: 200

	mu      sync.Mutex
	batches []*deskBatch // oldest first
	creates int
	refused int      // creates that were too long
	synced  []string // bodies by sync
	billed  int      // rows answered, by either tier
}

type deskBatch struct {
	id, org        string
	at             time.Time
	ends           time.Time
	cancelled      time.Time
	ids, bodies    []string
	gets, download int
	raw            []byte
}

func (d *desk) config() flotilla.Config {
	return flotilla.Config{
		BaseURL: "http://desk", Orgs: orgs("high"), Ramp: flotilla.RampOff,
		Transport: func(o flotilla.Org) http.RoundTripper { return &deskKey{d, o.Name} },
	}
}

// deskKey is the desk as one key sees it.
type deskKey struct {
	*desk
	org string
}

func (d *deskKey) RoundTrip(req *http.Request) (*http.Response, error) {
	body := []byte(nil)
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		if req.ContentLength != int64(len(body)) {
			return nil, fmt.Errorf("%d bytes were announced and %d came", req.ContentLength, len(body))
		}
	}
	status, out, err := d.serve(req, body)
	if err != nil {
		return nil, err
	}
	resp := reply(req, status, string(out))
	resp.Header.Set("anthropic-organization-id", "id-of-"+d.org)
	return resp, nil
}

func (d *deskKey) serve(req *http.Request, body []byte) (int, []byte, error) {
	path := strings.TrimPrefix(req.URL.Path, "/v1/")
	id, what, _ := strings.Cut(strings.TrimPrefix(path, "messages/batches/"), "/")
	switch {
	case path == "models":
		return 200, []byte(`{"data":[]}`), nil
	case path == "messages":
		return d.say(string(body))
	case path == "messages/batches" && req.Method == http.MethodPost:
		return d.make(body)
	case path == "messages/batches":
		return d.list(req)
	}
	d.mu.Lock()
	b := d.find(id)
	d.mu.Unlock()
	if b == nil {
		return 404, deskError("not_found_error", "Message Batch "+id+" not found."), nil
	}
	if what == "results" {
		return d.give(b)
	}
	d.mu.Lock()
	b.gets++
	n := b.gets
	d.mu.Unlock()
	if status := d.script(func() int { return d.get(b.id, n) }, d.get != nil); status != 0 {
		return status, deskError("not_found_error", "not found"), nil
	}
	if what == "cancel" {
		d.mu.Lock()
		defer d.mu.Unlock()
		if b.cancelled.IsZero() && time.Now().Before(b.ends) {
			b.cancelled = time.Now()
			b.ends = time.Now().Add(d.cancels)
		}
		return 200, b.object(), nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return 200, b.object(), nil
}

func deskError(kind, text string) []byte {
	return fmt.Appendf(nil, `{"type":"error","error":{"type":%q,"message":%q}}`, kind, text)
}

func (d *deskKey) find(id string) *deskBatch {
	for _, b := range d.batches {
		if b.id == id && b.org == d.org {
			return b
		}
	}
	return nil
}

func (d *deskKey) say(body string) (int, []byte, error) {
	d.mu.Lock()
	d.synced = append(d.synced, body)
	d.mu.Unlock()
	out := answerOf("msg", 7)
	status := d.script(func() (status int) {
		status, out = d.message(body)
		return status
	}, d.message != nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	if status == 0 || status == 200 {
		status = 200
		d.billed++
	}
	return status, []byte(out), nil
}

func (d *deskKey) make(body []byte) (int, []byte, error) {
	var in struct {
		Requests []struct {
			CustomID string `json:"custom_id"`
			Params   json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return 400, deskError("invalid_request_error", err.Error()), nil
	}
	d.mu.Lock()
	d.creates++
	n := d.creates
	long := d.longest > 0 && len(body) > d.longest
	if long {
		d.refused++
	}
	d.mu.Unlock()
	if long {
		return 413, deskError("request_too_large", "too long"), nil
	}
	lose := false
	status := d.script(func() (status int) {
		status, lose = d.create(n)
		return status
	}, d.create != nil)
	if status != 0 {
		kind := map[int]string{429: "rate_limit_error", 413: "request_too_large", 500: "api_error", 529: "overloaded_error"}[status]
		return status, deskError(kind, "not now"), nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	b := &deskBatch{id: "msgbatch_" + strconv.Itoa(n), org: d.org, at: time.Now(), ends: time.Now().Add(d.after), raw: body}
	for _, r := range in.Requests {
		b.ids, b.bodies = append(b.ids, r.CustomID), append(b.bodies, string(r.Params))
	}
	d.batches = append(d.batches, b)
	if lose {
		return 0, nil, io.ErrUnexpectedEOF
	}
	return 200, b.object(), nil
}

func (b *deskBatch) object() []byte {
	status, n, ended := "in_progress", len(b.ids), "null"
	counts := fmt.Sprintf(`{"processing":%d,"succeeded":0,"errored":0,"canceled":0,"expired":0}`, n)
	switch {
	case !time.Now().Before(b.ends):
		status, ended = "ended", strconv.Quote(b.ends.UTC().Format(time.RFC3339))
		counts = fmt.Sprintf(`{"processing":0,"succeeded":%d,"errored":0,"canceled":0,"expired":0}`, n)
		if !b.cancelled.IsZero() {
			counts = fmt.Sprintf(`{"processing":0,"succeeded":%d,"errored":0,"canceled":%d,"expired":0}`, n/2, n-n/2)
		}
	case !b.cancelled.IsZero():
		status = "canceling"
	}
	return fmt.Appendf(nil, `{"id":%q,"type":"message_batch","processing_status":%q,"request_counts":%s,"created_at":%q,"ended_at":%s}`,
		b.id, status, counts, b.at.UTC().Format("2006-01-02T15:04:05.000000Z"), ended)
}

func (d *deskKey) list(req *http.Request) (int, []byte, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var data [][]byte
	last, more := "null", false
	skip := req.URL.Query().Get("after_id")
	for i := len(d.batches) - 1; i >= 0; i-- {
		b := d.batches[i]
		if b.org != d.org {
			continue
		}
		if skip != "" {
			if b.id == skip {
				skip = ""
			}
			continue
		}
		if len(data) == 3 { // pages are small here
			more = true
			break
		}
		data = append(data, b.object())
		last = strconv.Quote(b.id)
	}
	return 200, fmt.Appendf(nil, `{"data":[%s],"has_more":%t,"first_id":null,"last_id":%s}`, bytes.Join(data, []byte(",")), more, last), nil
}

// give is the results of a batch: of a cancelled one the first half was
// answered.
func (d *deskKey) give(b *deskBatch) (int, []byte, error) {
	d.mu.Lock()
	b.download++
	n, ended := b.download, !time.Now().Before(b.ends)
	d.mu.Unlock()
	if !ended {
		return 404, deskError("not_found_error", "Message Batch "+b.id+" has no available results."), nil
	}
	var out bytes.Buffer
	order := rand.New(rand.NewPCG(1, uint64(len(b.ids)))).Perm(len(b.ids))
	succeeded := 0
	for _, i := range order {
		kind, content := "", "ok"
		d.script(func() int {
			kind, content = d.answer(b.bodies[i])
			return 0
		}, d.answer != nil)
		if !b.cancelled.IsZero() && i >= len(b.ids)/2 {
			kind = "canceled"
		}
		switch kind {
		case "":
			succeeded++
			fmt.Fprintf(&out, `{"custom_id":%q,"result":{"type":"succeeded","message":%s}}`, b.ids[i], deskAnswer(content))
		case "canceled", "expired":
			fmt.Fprintf(&out, `{"custom_id":%q,"result":{"type":%q}}`, b.ids[i], kind)
		default:
			fmt.Fprintf(&out, `{"custom_id":%q,"result":{"type":"errored","error":{"type":"error","error":{"type":%q,"message":"no"}}}}`, b.ids[i], kind)
		}
		out.WriteByte('\n')
	}
	if n == 1 {
		d.mu.Lock()
		d.billed += succeeded
		d.mu.Unlock()
	}
	body := out.Bytes()
	status := d.script(func() (status int) {
		body, status = d.results(b.id, n, body)
		return status
	}, d.results != nil)
	if status == 0 {
		status = 200
	}
	return status, body, nil
}

// script runs a script, if there is one; 0: it wants nothing.
func (d *desk) script(run func() int, there bool) int {
	if !there {
		return 0
	}
	d.scripts.Lock()
	defer d.scripts.Unlock()
	return run()
}

func deskAnswer(content string) []byte {
	text, _ := json.Marshal(content)
	return fmt.Appendf(nil, `{"id":"msg","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"text","text":%s}],`+
		`"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":7,"service_tier":"batch"}}`, text)
}

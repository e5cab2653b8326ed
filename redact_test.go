package flotilla_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/flotilla-llm/flotilla"
)

// Whatever the other end repeats of a request, an org's key stays here; and an
// error that comes under a 200 has the status of its type.
func TestCallersNeverSeeKeys(t *testing.T) {
	body := request(1).Body
	streamed := append(body[:len(body)-1:len(body)-1], `,"stream":true}`...)
	const said, hidden = `{"type":"error","error":{"type":"invalid_request_error","message":"no such key: KEY"}}`, "no such key: [key]"
	for _, c := range []struct {
		what   string
		status int
		kind   string
		head   string
		ask    []byte
		want   int
	}{
		{"an error", http.StatusBadRequest, "application/json", "", body, http.StatusBadRequest},
		{"an error under a 200", http.StatusOK, "application/json", "", body, http.StatusBadRequest},
		{"a stream's first event", http.StatusOK, "text/event-stream", "event: error\ndata: ", streamed, http.StatusBadRequest},
		{"a free request", http.StatusBadRequest, "application/json", "", nil, http.StatusBadRequest},
	} {
		synctest.Test(t, func(t *testing.T) {
			fleet := newFleet(t, scripted(func(_ int64, req *http.Request) (*http.Response, error) {
				sendBody(req)
				resp := reply(req, c.status, c.head+strings.ReplaceAll(said, "KEY", req.Header.Get("X-Api-Key"))+"\n\n")
				resp.Header.Set("Content-Type", c.kind)
				return resp, nil
			}))
			var a *flotilla.Answer
			var data []byte
			if c.ask != nil {
				a, data = ask(t, newLine(t, fleet, flotilla.LineOptions{}), c.ask)
			} else {
				var err error
				if a, err = fleet.Forward(context.Background(), http.MethodPost, "/v1/messages/count_tokens", "", nil, []byte("{}")); err != nil {
					t.Fatal(err)
				}
				data, _ = io.ReadAll(a.Body)
				_ = a.Body.Close()
			}
			if a.Status != c.want || !strings.Contains(string(data), hidden) || a.Length != int64(len(data)) {
				t.Errorf("%s: %d (%d bytes) %s", c.what, a.Status, a.Length, data)
			}
		})
	}
}

package emulator

import (
	"encoding/json"
	"testing"
	"time"
)

// On real connections, with the clock a thousand times as fast, a batch comes
// to its end in the time that the model says.
func TestBatchAtSpeed(t *testing.T) {
	sc := steady()
	sc.Name = "steady"
	s, url := serve(t, Options{Scenario: sc, Speed: 1000})
	res, body := ask{path: batchPath, body: createOf(0, 60)}.do(t, url)
	var b batchJSON
	if err := json.Unmarshal(body, &b); err != nil || res.StatusCode != 200 {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	poll := ask{method: "GET", path: batchPath + "/" + b.ID}
	for b.Status != "ended" {
		if !s.clock.sleep(t.Context(), s.clock.now()+10*time.Second) {
			t.Fatal("no clock")
		}
		_, body = poll.do(t, url)
		if err := json.Unmarshal(body, &b); err != nil {
			t.Fatalf("%v in %s", err, body)
		}
	}
	created, err := time.Parse(time.RFC3339Nano, b.CreatedAt)
	if err != nil {
		t.Fatal(err)
	}
	ended, err := time.Parse(time.RFC3339Nano, *b.EndedAt)
	if err != nil || ended.Sub(created) != 90*time.Second {
		t.Errorf("took %v, %v", ended.Sub(created), err)
	}
	poll.path += "/results"
	if _, body = poll.do(t, url); len(linesOf(t, body)) != 60 {
		t.Errorf("results %s", body)
	}
}

package wire

import (
	"bytes"
	"encoding/json"
	"testing"

	"pgregory.net/rapid"
)

// A create's rows carry the bodies byte for byte and nothing else (peer fault
// 30: a batch route that dropped system, temperature, tools), and are as long
// as was counted beforehand (peer fault 13: 413 for chunks cut by count).
func TestBatchItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bodies := rapid.SliceOfN(rapid.SampledFrom([]string{
			`{"model":"m","max_tokens":1,"messages":[],"system":"s","temperature":0.5,"tools":[{"name":"f"}]}`,
			` { "a" : [1 , 2] }`, `{"stream":false}`, "{\"u\":\"\u2028 \\u2028\"}", `{}`,
		}), 1, 5).Draw(t, "bodies")
		var ids []RowID
		whole := []byte(BatchHead)
		var pieces []byte // written elsewhere piece by piece, as to a socket
		size := len(BatchHead) + len(BatchTail) - 1
		for i, body := range bodies {
			id := drawRowID(t)
			ids = append(ids, id)
			whole = AppendBatchItem(whole, id, []byte(body))
			piece := []byte(BatchHead)
			if i > 0 {
				piece = nil
			}
			pieces = append(pieces, AppendBatchItem(piece, id, []byte(body))...)
			size += BatchItemSize(id, len(body))
		}
		whole = append(whole, BatchTail...)
		pieces = append(pieces, BatchTail...)
		if len(whole) != size || !bytes.Equal(whole, pieces) {
			t.Fatalf("%d bytes, %d counted; whole\n%s\nin pieces\n%s", len(whole), size, whole, pieces)
		}
		checkCreate(t, whole, ids, bodies)
	})
}

func checkCreate(t *rapid.T, create []byte, ids []RowID, bodies []string) {
	var got struct {
		Requests []struct {
			CustomID string `json:"custom_id"`
			Params   json.RawMessage
		}
	}
	if err := json.Unmarshal(create, &got); err != nil || len(got.Requests) != len(bodies) {
		t.Fatalf("%s: %v", create, err)
	}
	for i, r := range got.Requests {
		if id, ok := ParseRowID(r.CustomID); !ok || id != ids[i] || string(r.Params) != string(bytes.TrimSpace([]byte(bodies[i]))) {
			t.Fatalf("row %d: %s %s, want %+v %s", i, r.CustomID, r.Params, ids[i], bodies[i])
		}
	}
}

package wire

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const batchSample = `{"id":"msgbatch_01EXAMPLE","type":"message_batch","processing_status":"ended",
 "request_counts":{"processing":1,"succeeded":20,"errored":300,"canceled":4000,"expired":50000,"resting":7},
 "created_at":"2026-11-30T00:00:00.000001Z","expires_at":"2026-12-01T01:00:00+01:00",
 "ended_at":"2026-11-30T00:05:00Z","cancel_initiated_at":null,"archived_at":"yesterday","results_url":"https://h/r","more":{"id":1}}`

func TestReadBatch(t *testing.T) {
	day := time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)
	want := Batch{
		ID: "msgbatch_01EXAMPLE", Status: BatchEnded, Processing: 1, Succeeded: 20, Errored: 300, Canceled: 4000, Expired: 50000,
		CreatedAt: day.Add(time.Microsecond), ExpiresAt: day.AddDate(0, 0, 1), EndedAt: day.Add(5 * time.Minute), ResultsURL: "https://h/r",
	}
	got, err := ReadBatch([]byte(batchSample))
	if d := cmp.Diff(want, got); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
	if got.Rows() != 54321 {
		t.Errorf("%d rows", got.Rows())
	}
}

func TestReadBatchFaults(t *testing.T) {
	replaced := func(old, with string) string { return strings.Replace(batchSample, old, with, 1) }
	for name, body := range map[string]string{
		"empty": "", "cut": batchSample[:100], "a list": "[]", "a page": "<html>", "a message": sampleMessage,
		"no id": replaced(`"id":"msgbatch_01EXAMPLE",`, ""), "an id that leaves the path": replaced("msgbatch_01EXAMPLE", "../messages?x="),
		"no status": replaced("processing_status", "status"), "no counts": replaced("request_counts", "counts"),
		"counts of another kind": replaced(`"request_counts":{`, `"request_counts":3,"other":{`),
	} {
		var not *NotBatchError
		if b, err := ReadBatch([]byte(body)); !errors.As(err, &not) {
			t.Errorf("%s: %+v (%v)", name, b, err)
		}
	}
	if _, err := ReadBatch([]byte(`{"type":"error","error":{"type":"api_error"}}`)); !errors.Is(err, ErrErrorBody) {
		t.Errorf("an error in a 200: %v", err)
	}
}

func TestReadBatchList(t *testing.T) {
	got, err := ReadBatchList([]byte(`{"data":[` + batchSample + `,` + strings.Replace(batchSample, "01EX", "02EX", 1) + `],
		"has_more":true,"first_id":"msgbatch_01EXAMPLE","last_id":"msgbatch_02EXAMPLE"}`))
	if err != nil || len(got.Data) != 2 || got.Data[0].ID != got.FirstID || got.Data[1].ID != got.LastID || !got.HasMore {
		t.Errorf("%+v (%v)", got, err)
	}
	got, err = ReadBatchList([]byte(`{"data":[],"has_more":false,"first_id":null,"last_id":null}`))
	if d := cmp.Diff(BatchList{}, got); err != nil || d != "" {
		t.Errorf("an empty list: %v\n%s", err, d)
	}
}

// A listing that cannot be read whole shows nothing: what it left out would
// pass for absent, and be bought again.
func TestReadBatchListFaults(t *testing.T) {
	for name, body := range map[string]string{
		"no data": `{}`, "data of another kind": `{"data":{}}`, "a list": `[]`,
		"an entry that is none":  `{"data":[` + batchSample + `,7]}`,
		"an entry without an id": `{"data":[` + batchSample + `,{"type":"message_batch"}]}`,
		"more, nowhere":          `{"data":[` + batchSample + `],"has_more":true}`,
	} {
		var not *NotBatchError
		if l, err := ReadBatchList([]byte(body)); !errors.As(err, &not) || len(l.Data) > 0 {
			t.Errorf("%s: %+v (%v)", name, l, err)
		}
	}
	if _, err := ReadBatchList([]byte(`{"type":"error","error":{}}`)); !errors.Is(err, ErrErrorBody) {
		t.Errorf("an error in a 200: %v", err)
	}
}

func FuzzReadBatch(f *testing.F) {
	f.Add([]byte(batchSample))
	f.Add([]byte(`{"data":[` + batchSample + `],"has_more":false}`))
	f.Add([]byte(`{"type":"message_batch","id":"b","processing_status":"x","request_counts":{"processing":-5}}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		if b, err := ReadBatch(in); err == nil && (!pathWord(b.ID) || b.Rows() < 0) {
			t.Fatalf("%+v", b)
		}
		if l, err := ReadBatchList(in); err == nil && l.HasMore && l.LastID == "" {
			t.Fatalf("%+v", l)
		}
	})
}

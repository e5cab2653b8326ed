package journaltest

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/journal"
)

// Noon is when the suite's records are of, unless a test says otherwise.
var Noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.Local)

// Spec is a job of n rows; jobs of different names are different.
func Spec(name string, n int) journal.JobSpec {
	s := journal.JobSpec{Provider: "https://api.anthropic.com:443", Command: "flotilla run " + name, Inputs: []string{name}, N: n}
	copy(s.Identity[:], name)
	return s
}

// Hash is a body's hash.
func Hash(n int) (h [16]byte) {
	binary.BigEndian.PutUint64(h[:], uint64(n+1)*0x9e3779b97f4a7c15)
	return h
}

// Intent is the record before an attempt of a row is sent.
func Intent(job int64, row int, attempt int64, worst flotilla.Money) flotilla.Record {
	return flotilla.Record{
		Kind: flotilla.IntentRecord, Job: job, Row: row, Attempt: attempt, At: Noon,
		Org: "high", Pool: "sonnet-4", Tier: "sync", Model: "claude-sonnet-4-6", Worst: worst, Hash: Hash(row),
	}
}

// Ended is the record of an attempt that did not settle its call.
func Ended(job int64, row int, attempt int64, charged flotilla.Money, doubt bool) flotilla.Record {
	r := Intent(job, row, attempt, 0)
	r.Kind, r.At, r.Charged, r.InDoubt = flotilla.AttemptRecord, Noon.Add(time.Second), charged, doubt
	return r
}

// Settled is the record of a call's outcome, answered on an attempt.
func Settled(job int64, row int, attempt int64, kind string, charged flotilla.Money) flotilla.Record {
	r := Intent(job, row, attempt, 0)
	r.Kind, r.At, r.Type, r.Charged, r.Cost = flotilla.OutcomeRecord, Noon.Add(2*time.Second), kind, charged, charged
	r.Attempts, r.Latency = 1, 812*time.Millisecond
	r.Answer = fmt.Appendf(nil, `{"id":"msg_%d_%d"}`, row, attempt)
	if kind == "succeeded" {
		r.StopReason, r.Tokens = "end_turn", 120
	} else {
		r.Status = 400
	}
	return r
}

// Sent is the record before a batch of rows is sent; number is that of its
// intent.
func Sent(job, number int64, worst flotilla.Money, rows ...int) flotilla.Record {
	return flotilla.Record{
		Kind: flotilla.BatchRecord, Step: flotilla.BatchIntent, Job: job, Batch: number, Rows: rows, Worst: worst, Bytes: 4711,
		At: Noon, Org: "high", OrgID: "org-1", Pool: "sonnet-4", Tier: "batch",
	}
}

// Step is the record of a further step of a batch.
func Step(job, number int64, step flotilla.BatchStep) flotilla.Record {
	r := Sent(job, number, 0)
	r.Step, r.Rows, r.Bytes, r.At = step, nil, 0, Noon.Add(time.Duration(step)*time.Minute)
	if step == flotilla.BatchMade {
		r.BatchID = fmt.Sprintf("msgbatch_%d", number)
	}
	return r
}

// Carried is the record of a row's outcome that a batch gave.
func Carried(job, number int64, row int, kind string, worst, charged flotilla.Money) flotilla.Record {
	r := Settled(job, row, 0, kind, charged)
	r.Batch, r.Worst, r.Tier, r.Status, r.Tokens, r.At = number, worst, "batch", 0, 0, Noon.Add(time.Hour)
	if kind == "succeeded" {
		r.Out = int64(row) + 1
	}
	return r
}

// Back is the record of a row that a batch gave back unsettled.
func Back(job, number int64, row int, worst, charged flotilla.Money, doubt bool) flotilla.Record {
	r := Ended(job, row, 0, charged, doubt)
	r.Batch, r.Worst, r.Tier, r.At = number, worst, "batch", Noon.Add(time.Hour)
	return r
}

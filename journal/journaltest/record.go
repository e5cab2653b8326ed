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

//go:build unix

package main

import (
	"net/http"
	"net/http/httptrace"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/flotilla-llm/flotilla"
)

// killVariable arms a process of the test binary that plays the program: it
// kills itself, as kill -9 does, at the n-th boundary of a kind, "kind:n".
const killVariable = "FLOTILLA_TEST_KILL"

// Boundaries of a call's life at which a process may die.
const (
	killIntent = "intent" // the intent is durable, nothing was sent
	killSent   = "sent"   // the request is written
	killAnswer = "answer" // the answer has come, its outcome is not durable
	killCommit = "commit" // the outcome is durable, its line is not written
	killBefore = "before" // anything at all is about to be written to the journal
	killAfter  = "after"  // it is durable
)

func init() {
	kind, nth, ok := strings.Cut(os.Getenv(killVariable), ":")
	if !ok {
		return
	}
	n, err := strconv.ParseInt(nth, 10, 64)
	if err != nil {
		panic(err)
	}
	k := &killer{kind: kind}
	k.left.Store(n)
	testStore = func(s flotilla.Store) flotilla.Store { return &killingStore{s, k} }
	if kind == killSent {
		testTransport = k.transport
	}
}

type killer struct {
	kind string
	left atomic.Int64
}

// at dies when it is told of the boundary for the last time.
func (k *killer) at(kind string) {
	if k.kind == kind && k.left.Add(-1) == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal is on its way
	}
}

type killingStore struct {
	flotilla.Store
	k *killer
}

func (s *killingStore) Append(records []flotilla.Record) error {
	s.k.at(killBefore)
	kinds := map[flotilla.RecordKind]bool{}
	for i := range records {
		kinds[records[i].Kind] = true
	}
	if kinds[flotilla.OutcomeRecord] {
		s.k.at(killAnswer)
	}
	if err := s.Store.Append(records); err != nil {
		return err
	}
	s.k.at(killAfter)
	if kinds[flotilla.IntentRecord] {
		s.k.at(killIntent)
	}
	if kinds[flotilla.OutcomeRecord] {
		s.k.at(killCommit)
	}
	return nil
}

// transport dies once a request for a message has been written.
func (k *killer) transport(flotilla.Org) http.RoundTripper {
	return killingTransport{&http.Transport{MaxIdleConnsPerHost: 200}, k}
}

type killingTransport struct {
	*http.Transport
	k *killer
}

func (t killingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method == http.MethodPost {
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			WroteRequest: func(httptrace.WroteRequestInfo) { t.k.at(killSent) },
		}))
	}
	return t.Transport.RoundTrip(req)
}

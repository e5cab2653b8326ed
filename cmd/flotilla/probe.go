package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// probeTokens is more than the input of a probe can be: one word and what the
// API puts around it.
const probeTokens = 64

func probeWorst(m price.Model) price.Nanos {
	return m.Worst(probeTokens, 1, false, false, false, false, false)
}

// probe learns a row's limits from the headers of the smallest possible call.
// A refusal for rate tells them too.
func (row *limitRow) probe(ctx context.Context, a *api, key flotilla.Key, m price.Model) {
	body := fmt.Appendf(nil, `{"model":%q,"max_tokens":1,"messages":[{"role":"user","content":"Hi"}]}`, m.ID)
	var answer struct {
		Usage struct {
			Input  int64 `json:"input_tokens"`
			Output int64 `json:"output_tokens"`
		} `json:"usage"`
	}
	header, err := a.post(ctx, key, "/v1/messages", body, &answer)
	if err == nil {
		row.Cost = m.Cost(price.Usage{Input: answer.Usage.Input, Output: answer.Usage.Output}).Exact()
	} else {
		row.Error = probeError(err, m.ID)
	}
	if header != nil {
		row.read(wire.ParseLimits(header))
	}
}

func probeError(err error, model string) string {
	var se *statusError
	if errors.As(err, &se) && se.status == http.StatusNotFound {
		return model + " cannot be called by this org"
	}
	return err.Error()
}

// read takes what an answer's headers say. What they do not say stays.
func (row *limitRow) read(l wire.Limits) {
	use := &inUse{}
	found := false
	for _, d := range []struct {
		limit wire.Limit
		to    *float64
		share *float64
	}{
		{l.Requests, &row.RPM, &use.Requests},
		{l.Input, &row.ITPM, &use.Input},
		{l.Output, &row.OTPM, &use.Output},
	} {
		if !d.limit.HasLimit || !d.limit.HasRemaining || d.limit.Limit <= 0 {
			continue
		}
		found = true
		*d.to = float64(d.limit.Limit)
		*d.share = max(0, 1-float64(d.limit.Remaining)/float64(d.limit.Limit))
	}
	if found {
		row.InUse, row.Source = use, "headers of a probe"
	}
}

package gateway

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// rowFault is why a request of a batch ends errored without having been sent.
type rowFault struct{ kind, message string }

// weigher reads the facts of a body: a Fleet does.
type weigher interface {
	WeighAs(body []byte, version string, betas []string) (flotilla.Facts, error)
}

// faultOf says what keeps a request from going by any batch: what cannot be
// weighed, and what only the sync tier takes, which would cost twice the price
// that a batch is created for. Everything else is the API's to refuse
// (facts/claude-api.md 4.3). nil: nothing. capped says that a limit on money
// holds the batch.
func faultOf(w weigher, params []byte, version string, betas []string, capped bool) *rowFault {
	f, err := wire.Parse(params)
	if err != nil {
		return &rowFault{kindInvalid, err.Error()}
	}
	_, only := wire.Batchable(&f)
	switch {
	case f.Stream:
		return &rowFault{kindInvalid, `"stream=True" is not supported in the Message Batches API`}
	case only == "max_tokens":
		return &rowFault{kindInvalid, "max_tokens: Input should be greater than or equal to 1"}
	case only != "":
		return &rowFault{kindInvalid, fmt.Sprintf("%q is not supported in the Message Batches API", only)}
	case f.Missing() != "":
		return &rowFault{kindInvalid, f.Missing() + ": Field required"}
	case capped && f.Metered != "":
		return &rowFault{kindInvalid, f.Metered + " is billed per use, and how often it will be used is not known beforehand: it is not sent under a limit on money"}
	}
	var unknown *flotilla.UnknownModelError
	_, err = w.WeighAs(params, version, betas)
	switch {
	case errors.As(err, &unknown):
		return &rowFault{kindNotFound, "model: " + unknown.Model}
	case err != nil:
		return &rowFault{kindInvalid, err.Error()}
	}
	return nil
}

// faultJSON is a row's error as results show it: the whole envelope
// (facts/claude-api.md 4.4).
type faultJSON struct {
	Type      string      `json:"type"`
	Error     faultDetail `json:"error"`
	RequestID *string     `json:"request_id"`
}

type faultDetail struct {
	Type    string           `json:"type"`
	Message string           `json:"message"`
	Details *faultVisibility `json:"details"`
}

type faultVisibility struct {
	Visibility string `json:"error_visibility"`
}

// appendFault appends the line of a row that errored. The id's letters need no
// escape.
func appendFault(dst []byte, id string, f *rowFault) []byte {
	dst = append(dst, `{"custom_id":"`...)
	dst = append(dst, id...)
	dst = append(dst, `","result":`...)
	dst = append(dst, errored(f)...)
	return append(dst, "}\n"...)
}

// errored is the result of such a row.
func errored(f *rowFault) string {
	out, err := json.Marshal(faultJSON{Type: "error", Error: faultDetail{f.kind, f.message, &faultVisibility{"user_facing"}}})
	if err != nil {
		panic(err) // strings alone always encode
	}
	return `{"type":"errored","error":` + string(out) + `}`
}

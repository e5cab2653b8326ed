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

// rowMeter looks at the requests of one create.
type rowMeter struct {
	fleet   *flotilla.Fleet
	version string
	betas   []string
	hashed  bool           // answers are found by hash
	capped  bool           // a limit on money holds the batch
	facts   flotilla.Facts // of the last request that had no fault
}

// faultOf says what keeps a request from going by any batch: what cannot be
// weighed, and what only the sync tier takes, which would cost twice the price
// that a batch is created for. Everything else is the API's to refuse
// (facts/claude-api.md 4.3). nil: nothing.
func (m *rowMeter) faultOf(params []byte) *rowFault {
	f, err := wire.Parse(params)
	if err != nil {
		return &rowFault{kindInvalid, worded(err)}
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
	case m.capped && f.Metered != "":
		return &rowFault{kindInvalid, f.Metered + " is billed per use, and how often it will be used is not known beforehand: it is not sent under a limit on money"}
	}
	var unknown *flotilla.UnknownModelError
	m.facts, err = m.weigh(params)
	switch {
	case errors.As(err, &unknown):
		return &rowFault{kindNotFound, "model: " + unknown.Model}
	case err != nil:
		return &rowFault{kindInvalid, worded(err)}
	}
	return nil
}

// weigh reads the facts of a request, with its hash only where that is of use: it
// is most of the work for a large one, and the job makes it again.
func (m *rowMeter) weigh(params []byte) (flotilla.Facts, error) {
	if !m.hashed {
		return m.fleet.WeighCall(params)
	}
	return m.fleet.WeighAs(params, m.version, m.betas)
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

// errored is the result of a row that errored.
func errored(f *rowFault) string {
	out, err := json.Marshal(faultJSON{Type: "error", Error: faultDetail{f.kind, f.message, &faultVisibility{"user_facing"}}})
	if err != nil {
		panic(err) // strings alone always encode
	}
	return `{"type":"errored","error":` + string(out) + `}`
}

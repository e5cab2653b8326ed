package wire

import "encoding/json"

// LimitGroup is one entry of the Rate Limits API (facts/claude-api.md 5.1): the
// limits of the models that share a pool, or of the batch endpoints. Zero: not
// said, or of a kind that this package does not know.
type LimitGroup struct {
	Models   []string // of a pool, under all their names; none: the entry is no pool's
	Requests float64  // a minute
	// Input is input tokens a minute, cache reads aside. Where the entry has the
	// old and the cache-aware limit at once, the lower holds.
	Input        float64
	Output       float64 // output tokens a minute
	TokensPerDay float64

	BatchRPM   float64 // requests a minute to all batch endpoints together
	BatchQueue float64 // rows that may be in processing
}

// UnmarshalJSON reads an entry.
func (g *LimitGroup) UnmarshalJSON(data []byte) error {
	var entry struct {
		Group struct {
			Type string `json:"type"`
		} `json:"group"`
		GroupType string   `json:"group_type"` // version 2023-06-01, in older replies alone
		Models    []string `json:"models"`
		Limits    []struct {
			Type  string  `json:"type"`
			Value float64 `json:"value"`
		} `json:"limits"`
	}
	if err := json.Unmarshal(data, &entry); err != nil {
		return err
	}
	kind := entry.Group.Type
	if kind == "" {
		kind = entry.GroupType
	}
	*g = LimitGroup{}
	if kind == "model_group" {
		g.Models = entry.Models
	}
	for _, l := range entry.Limits {
		switch kind {
		case "model_group":
			g.ofPool(l.Type, l.Value)
		case "batch":
			g.ofBatches(l.Type, l.Value)
		}
	}
	return nil
}

func (g *LimitGroup) ofPool(kind string, value float64) {
	switch kind {
	case "requests_per_minute":
		g.Requests = value
	case "input_tokens_per_minute_cache_aware", "input_tokens_per_minute":
		if g.Input == 0 || value < g.Input {
			g.Input = value
		}
	case "output_tokens_per_minute":
		g.Output = value
	case "tokens_per_day":
		g.TokensPerDay = value
	}
}

func (g *LimitGroup) ofBatches(kind string, value float64) {
	switch kind {
	case "requests_per_minute":
		g.BatchRPM = value
	case "enqueued_batch_requests":
		g.BatchQueue = value
	}
}

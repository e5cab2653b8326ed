package wire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLimitGroup(t *testing.T) {
	for in, want := range map[string]LimitGroup{
		`{"group":{"type":"model_group"},"models":["a","b"],"limits":[{"type":"requests_per_minute","value":5},{"type":"input_tokens_per_minute","value":90},{"type":"input_tokens_per_minute_cache_aware","value":80},{"type":"output_tokens_per_minute","value":7},{"type":"tokens_per_day","value":900}]}`: {Models: []string{"a", "b"}, Requests: 5, Input: 80, Output: 7, TokensPerDay: 900},
		`{"group_type":"model_group","models":["a"],"limits":[{"type":"input_tokens_per_minute_cache_aware","value":80},{"type":"input_tokens_per_minute","value":90},{"type":"new","value":1}]}`:                                                                                                             {Models: []string{"a"}, Input: 80},
		`{"group":{"type":"batch"},"models":["a"],"limits":[{"type":"requests_per_minute","value":5},{"type":"enqueued_batch_requests","value":100}]}`:                                                                                                                                                        {BatchRPM: 5, BatchQueue: 100},
		`{"group":{"type":"token_count"},"limits":[{"type":"requests_per_minute","value":5}]}`:                                                                                                                                                                                                                {},
	} {
		var got LimitGroup
		if err := json.Unmarshal([]byte(in), &got); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", in, diff)
		}
	}
}

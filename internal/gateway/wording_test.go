package gateway

import (
	"bytes"
	"net/http"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/emulator"
	"github.com/flotilla-llm/flotilla/internal/memnet"
)

// What is wrong with a request of a batch is said as the API says it: here the
// emulator, which is asked the same without us.
func TestFaultsInTheWordsOfTheAPI(t *testing.T) {
	net := memnet.Listen()
	server, err := emulator.New(emulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(net) }()
	defer func() { _ = server.Close() }()
	direct := http.Client{Transport: net.Transport()}
	m := &rowMeter{}
	for _, params := range []string{
		`{"model":"claude-haiku-4-5","max_tokens":-1,"messages":[{"role":"user","content":"a"}]}`,
		`{"model":"claude-haiku-4-5","max_tokens":1.5,"messages":[{"role":"user","content":"a"}]}`,
		`{"model":"claude-haiku-4-5","max_tokens":"many","messages":[{"role":"user","content":"a"}]}`,
		`{"model":7,"max_tokens":1,"messages":[{"role":"user","content":"a"}]}`,
		`{"model":"claude-haiku-4-5","max_tokens":1,"messages":"a"}`,
		`{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"user","content":"a"}],"stream":"yes"}`,
		`{"model":"claude-haiku-4-5","max_tokens":1,"messages":[{"role":"user","content":"a"}],"temperature":"hot"}`,
		`{"max_tokens":1,"messages":[{"role":"user","content":"a"}]}`,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://memnet/v1/messages", bytes.NewReader([]byte(params)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("x-api-key", "sk-ant-emulated-high")
		r.Header.Set("anthropic-version", flotilla.DefaultVersion)
		resp, err := direct.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		_, _ = said.ReadFrom(resp.Body)
		_ = resp.Body.Close()
		want := gjson.GetBytes(said.Bytes(), "error.message").Str
		if got := m.faultOf([]byte(params)); got == nil || got.message != want || got.kind != kindInvalid {
			t.Errorf("%s: %+v, the API %q", params, got, want)
		}
	}
}

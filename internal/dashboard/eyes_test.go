package dashboard

import (
	"flag"
	"net"
	"os"
	"os/signal"
	"testing"

	"github.com/flotilla-llm/flotilla/emulator"
)

var eyes = flag.String("eyes", "", "address to serve a dashboard at, with a job that goes on, until interrupted")

// netListener lets a stage listen at an address that a person named.
type netListener struct{}

func (netListener) listen(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }

// For people: go test ./internal/dashboard -run TestServeForEyes -eyes 127.0.0.1:8800
// -timeout 0 shows a dashboard with live jobs, hostile answers among them.
func TestServeForEyes(t *testing.T) {
	if *eyes == "" {
		t.Skip("-eyes ADDRESS serves a dashboard to look at")
	}
	s := newStage(t, setting{scenario: "everything", speed: 1, listen: *eyes, rules: hostile})
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	s.play(ctx, "long.jsonl", promptRows(30_000), nil)
	s.play(ctx, "short.jsonl", promptRows(500), nil)
	t.Log("serving at", s.url)
	<-ctx.Done()
}

// hostile are answers that a page must show as text.
var hostile = []emulator.AnswerRule{
	{Match: `Question \d*7:`, Template: `<script>document.title="owned"</script><img src=x onerror="document.title='owned'"> **bold** [link](javascript:alert(1)) {{int 0 9}}`},
	{Match: `Question \d*3:`, Refuse: 1},
	{Match: `Question \d*5:`, Cut: 1},
}

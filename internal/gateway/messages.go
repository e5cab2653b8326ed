package gateway

import (
	"context"
	"net/http"

	"github.com/flotilla-llm/flotilla"
)

// messages serves POST /v1/messages.
func (g *Gateway) messages(w http.ResponseWriter, r *http.Request) {
	rec := recordOf(r.Context())
	caller := CallerOf(r.Context())
	asked, e := readAsk(r.Header, caller, g.cfg.Now())
	if e != nil {
		turnDown(w, r, e)
		return
	}
	rec.Priority = asked.Priority
	body, e := takeBody(r)
	if e != nil {
		turnDown(w, r, e)
		return
	}
	facts, err := g.weigh(body, r.Header)
	if err != nil {
		e := unweighed(err)
		rec.Failed(err)
		turnDown(w, r, e)
		return
	}
	rec.Model, rec.Stream = facts.Model, facts.Stream
	if e := g.metered(&facts, caller); e != nil {
		turnDown(w, r, e)
		return
	}
	g.call(w, r, caller, asked, flotilla.Call{
		Body: body, Query: r.URL.RawQuery, Header: upstreamHeader(r.Header), MaxWait: asked.MaxWait, Facts: &facts, Stop: goneOf(r.Context()),
	})
}

// weigh reads the facts of a body. Its hash is made only where answers are found
// by it.
func (g *Gateway) weigh(body []byte, h http.Header) (flotilla.Facts, error) {
	if g.cache == nil {
		return g.cfg.Fleet.WeighCall(body)
	}
	return g.cfg.Fleet.WeighAs(body, h.Get("Anthropic-Version"), betasOf(h))
}

// call answers from the cache, or sends.
func (g *Gateway) call(w http.ResponseWriter, r *http.Request, caller Caller, asked ask, call flotilla.Call) {
	turn := g.cache.take(call.Facts.Hash)
	defer turn.end()
	if turn.hit() && g.replay(w, r, turn, call.Facts.Stream) {
		return
	}
	line, err := g.line(r.Context(), caller, asked.Priority)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	call.Nth = turn.nth
	// The exchange ends when the client goes away, or when it can no longer be
	// written to.
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	a, err := line.Do(ctx, call)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	defer a.Body.Close()
	turn.kept = g.deliver(ctx, cancel, w, r, a) && a.Status < 300
}

// unweighed is the answer for a body that the fleet cannot weigh.
func unweighed(err error) *apiError {
	if e := refusalOf(err); e != nil && e.status < http.StatusInternalServerError {
		return e
	}
	return refuseBody(err)
}

// metered refuses what may cost any amount where money is capped, as run does
// (docs/design.md, "Money").
func (g *Gateway) metered(f *flotilla.Facts, c Caller) *apiError {
	if f.Metered == "" || !g.cfg.Capped && g.cfg.PurseOf == nil && c.MaxPerDay == 0 {
		return nil
	}
	return invalid(f.Metered + " is billed per use, and how often it will be used is not known beforehand: this gateway's budget could not be kept")
}

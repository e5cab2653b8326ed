package gateway

import (
	"context"
	"net/http"
)

// countTokens serves POST /v1/messages/count_tokens: free, and outside of lanes
// and budgets.
func (g *Gateway) countTokens(w http.ResponseWriter, r *http.Request) {
	body, e := takeBody(r)
	if e != nil {
		turnDown(w, r, e)
		return
	}
	g.forward(w, r, body)
}

// models serves GET /v1/models and /v1/models/{id}.
func (g *Gateway) models(w http.ResponseWriter, r *http.Request) { g.forward(w, r, nil) }

// forward passes a free request on.
func (g *Gateway) forward(w http.ResponseWriter, r *http.Request, body []byte) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	a, err := g.cfg.Fleet.Forward(ctx, r.Method, r.URL.Path, r.URL.RawQuery, upstreamHeader(r.Header), body)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	defer a.Body.Close()
	g.deliver(ctx, cancel, w, r, a)
}

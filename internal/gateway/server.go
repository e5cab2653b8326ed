package gateway

import (
	"log/slog"
	"net/http"
	"time"
)

// Limits of the server. Whoever needs longer for the head of a request, or sends
// a larger one, is no client of the API. Beyond headerMost the shell refuses, in the
// API's words; beyond headerRead net/http does, before anybody has read the request.
const (
	headerPatience = 10 * time.Second
	headerMost     = 64 << 10 // bytes
	headerRead     = 4 * headerMost
	idlePatience   = 2 * time.Minute
)

// NewServer is an HTTP server that slow, large and broken requests cannot hold
// on to. It is to serve a listener of Bound.
func NewServer(h http.Handler, log *slog.Logger) *http.Server {
	s := &http.Server{
		Handler: h, ReadHeaderTimeout: headerPatience, IdleTimeout: idlePatience, MaxHeaderBytes: headerRead,
		DisableGeneralOptionsHandler: true,
	}
	if log != nil {
		s.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelDebug)
	}
	return s
}

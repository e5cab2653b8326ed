package flotilla

import (
	"cmp"
	"net/http"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// headersOf makes the headers of a stream that has a version or betas of its own;
// nil: it goes by the orgs'.
func (f *Fleet) headersOf(opt *Options) map[*orgState]http.Header {
	if opt.Version == "" && opt.Betas == nil {
		return nil
	}
	betas := opt.Betas
	if betas == nil {
		betas = f.cfg.Betas
	}
	headers := map[*orgState]http.Header{}
	for _, o := range f.orgs {
		headers[o] = wire.Header(string(o.Key), cmp.Or(opt.Version, f.cfg.Version), betas)
	}
	return headers
}

// headerTo is what the stream's requests to an org carry. Read by exchanges: it
// does not change once the stream is open.
func (s *stream) headerTo(o *orgState) http.Header {
	if s.headers == nil {
		return o.header
	}
	return s.headers[o]
}

package dashboard

import "net/http"

// routes is what is answered, below Base.
func (d *Dashboard) routes() http.Handler {
	api := map[string]http.HandlerFunc{
		"GET /api/state":                             d.serveState,
		"GET /api/series":                            d.serveSeries,
		"GET /api/events":                            d.serveEvents,
		"GET /api/recent":                            d.serveRecent,
		"GET /api/jobs/{key}":                        d.serveJob,
		"GET /api/jobs/{key}/rows":                   d.serveRows,
		"GET /api/jobs/{key}/rows/{row}":             d.serveRow,
		"GET /api/jobs/{key}/judge":                  d.serveJudge,
		"GET /api/jobs/{key}/verdicts":               d.serveVerdicts,
		"GET /api/jobs/{key}/verdicts/{call}":        d.serveVerdict,
		"POST /api/jobs/{key}/{verb}":                d.changeJob,
		"POST /api/lanes/{org}/{pool}/{tier}/{verb}": d.changeLane,
		"GET /api/limits":                            d.serveLimits,
		"GET /api/experiments":                       d.serveExperiments,
		"GET /api/experiments/{name}":                d.serveExperiment,
		"GET /api/figures/{file}":                    d.serveFigure,
		"GET /api/guidelines":                        d.serveGuidelines,
		"/api/": func(w http.ResponseWriter, _ *http.Request) {
			writeError(w, http.StatusNotFound, "there is nothing here")
		},
	}
	mux := http.NewServeMux()
	for pattern, handler := range api {
		mux.HandleFunc(pattern, handler)
	}
	mux.Handle("/", assets())
	if d.base == "/" {
		return mux
	}
	return http.StripPrefix(d.base[:len(d.base)-1], mux)
}

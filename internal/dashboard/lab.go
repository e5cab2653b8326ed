package dashboard

import "net/http"

type labShelf struct{}

func (d *Dashboard) serveLimits(w http.ResponseWriter, r *http.Request)      {}
func (d *Dashboard) serveExperiments(w http.ResponseWriter, r *http.Request) {}
func (d *Dashboard) serveExperiment(w http.ResponseWriter, r *http.Request)  {}
func (d *Dashboard) serveFigure(w http.ResponseWriter, r *http.Request)      {}
func (d *Dashboard) serveGuidelines(w http.ResponseWriter, r *http.Request)  {}

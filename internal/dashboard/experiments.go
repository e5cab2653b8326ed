package dashboard

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/lab"
)

type experimentJSON struct {
	Name       string         `json:"name"`
	Title      string         `json:"title"`
	At         *time.Time     `json:"at"`
	Window     string         `json:"window"`
	Verdict    string         `json:"verdict"`
	Confidence float64        `json:"confidence"`
	Emulated   *string        `json:"emulated"`
	Stopped    *string        `json:"stopped"` // what ended it before its time
	USD        flotilla.Money `json:"usd"`
	Figures    []string       `json:"figures"`
}

func nameOf(r *lab.Result) string { return r.Experiment + "-" + r.Window }

func (d *Dashboard) serveExperiments(w http.ResponseWriter, _ *http.Request) {
	results, err := d.lab.read(d.cfg.LabDir)
	if err != nil && len(results) == 0 {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	chosen := lab.Choose(results).Results
	out := []experimentJSON{}
	for _, r := range results {
		out = append(out, experimentJSON{
			Name: nameOf(r), Title: r.Question, At: someTime(r.Ended), Window: r.Window, Verdict: r.Verdict, Confidence: r.Confidence,
			Emulated: some(r.Emulated), Stopped: some(r.Stopped), USD: r.Cost.Total, Figures: figuresOf(r, chosen),
		})
	}
	writeJSON(w, out)
}

func (d *Dashboard) serveExperiment(w http.ResponseWriter, r *http.Request) {
	results, _ := d.lab.read(d.cfg.LabDir) // one that is no result has no name
	for _, one := range results {
		if nameOf(one) == r.PathValue("name") {
			writeJSON(w, one)
			return
		}
	}
	writeError(w, http.StatusNotFound, "there is no result of that name")
}

// figureName is what a figure may be called: nothing that leads elsewhere.
var figureName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)*\.svg$`)

// figurePolicy lets a figure that is opened by itself show its shapes and
// nothing else: no script, no other file.
const figurePolicy = "default-src 'none'; style-src 'unsafe-inline'; font-src data:; sandbox"

// figureMost bounds a figure that is read from a file.
const figureMost = 8 << 20

func (d *Dashboard) serveFigure(w http.ResponseWriter, r *http.Request) {
	file := r.PathValue("file")
	if !figureName.MatchString(file) {
		writeError(w, http.StatusNotFound, "there is no figure of that name")
		return
	}
	svg, err := d.lab.figure(d.cfg.LabDir, strings.TrimSuffix(file, ".svg"))
	if err == nil && svg == nil && d.cfg.Figures != "" {
		svg, err = readFile(filepath.Join(d.cfg.Figures, file), figureMost)
	}
	switch {
	case err != nil:
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	case svg == nil:
		writeError(w, http.StatusNotFound, "there is no figure of that name")
		return
	}
	w.Header().Set("Content-Security-Policy", figurePolicy)
	w.Header().Set("Content-Type", "image/svg+xml")
	_, _ = w.Write(svg)
}

// guidelinesJSON is the document that report wrote.
type guidelinesJSON struct {
	Text string     `json:"text"` // Markdown
	Path string     `json:"path"`
	Made *time.Time `json:"made"`
}

// guidelinesMost bounds the document.
const guidelinesMost = 4 << 20

func (d *Dashboard) serveGuidelines(w http.ResponseWriter, _ *http.Request) {
	if d.cfg.Guidelines == "" {
		writeJSON(w, nil)
		return
	}
	text, err := readFile(d.cfg.Guidelines, guidelinesMost)
	if err != nil {
		writeError(w, http.StatusInternalServerError, err.Error())
		return
	}
	if text == nil {
		writeJSON(w, nil)
		return
	}
	out := guidelinesJSON{Text: strings.ToValidUTF8(string(text), "\uFFFD"), Path: d.cfg.Guidelines}
	if info, err := os.Stat(d.cfg.Guidelines); err == nil {
		out.Made = someTime(info.ModTime())
	}
	writeJSON(w, out)
}

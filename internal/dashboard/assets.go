package dashboard

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:generate go run ./ui/build

// dist is what ui/build makes of the pages' sources.
//
//go:embed ui/dist
var dist embed.FS

// pages are the files of dist by their names.
var pages = func() fs.FS {
	sub, err := fs.Sub(dist, "ui/dist")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return sub
}()

// assetTypes are the types of dist's files by their extension. They are not
// asked of the machine, whose table may say anything.
var assetTypes = map[string]string{
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".css":  "text/css; charset=utf-8",
	".svg":  "image/svg+xml",
	".txt":  "text/plain; charset=utf-8",
}

// assets answers "/" with the one page there is, and "/ui/NAME" with the files
// that it names. Their names carry a hash of the content, so that what is under
// one never changes; the page's own has none, and is asked for anew each time.
func assets() http.Handler {
	mux := http.NewServeMux()
	page := func(w http.ResponseWriter, r *http.Request) { serveAsset(w, r, "index.html", "no-cache") }
	mux.HandleFunc("GET /{$}", page)
	mux.HandleFunc("GET /index.html", page)
	mux.HandleFunc("GET /ui/{name}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("name")
		if name == "index.html" {
			http.NotFound(w, r)
			return
		}
		serveAsset(w, r, name, "public, max-age=31536000, immutable")
	})
	return mux
}

func serveAsset(w http.ResponseWriter, r *http.Request, name, caching string) {
	data, err := fs.ReadFile(pages, name)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", assetTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", caching)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}

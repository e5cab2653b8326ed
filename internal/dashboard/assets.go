package dashboard

import "net/http"

// assets are the pages.
func assets() http.Handler { return http.NotFoundHandler() }

package wire

import (
	"net/http"
	"strings"
)

// Header makes the headers of a Messages request: key, anthropic-version, the
// betas in one header. Nothing else; a transport adds what HTTP needs.
func Header(key, version string, betas []string) http.Header {
	h := http.Header{
		"X-Api-Key":         {key},
		"Anthropic-Version": {version},
		"Content-Type":      {"application/json"},
		"Accept":            {"application/json"},
	}
	if len(betas) > 0 {
		h["Anthropic-Beta"] = []string{strings.Join(betas, ",")}
	}
	return h
}

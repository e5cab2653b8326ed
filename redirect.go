package flotilla

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/flotilla-llm/flotilla/internal/sched"
)

// RedirectError says that what a base URL leads to sends its callers on. That is
// not followed: a key goes where it was meant to go and nowhere else.
type RedirectError struct {
	Status int
	Org    string
	To     string // scheme and host; empty: it does not say
}

func (e *RedirectError) Error() string {
	to := ""
	if e.To != "" {
		to = " to " + e.To
	}
	return fmt.Sprintf("the base URL of org %s redirects%s (%d), which is not followed: it is not the API's", e.Org, to, e.Status)
}

// redirected is an answer that sends a line's call on. Where every org has the
// same base URL none will answer, so it is final, as an address that leads to
// ourselves is; nothing was billed. Else another org may answer: it is one of the
// lane's failures.
func (f *Fleet) redirected(a *attempt, resp *http.Response) (answer, bool) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return answer{}, false
	}
	if slices.ContainsFunc(f.orgs, func(o *orgState) bool { return o.base.Host != a.org.base.Host }) {
		return answer{}, false
	}
	err := &RedirectError{Status: resp.StatusCode, Org: a.org.Name}
	if to, bad := resp.Location(); bad == nil {
		err.To = f.redact((&url.URL{Scheme: to.Scheme, Host: to.Host}).String())
	}
	return answer{
		source: err, err: err, status: resp.StatusCode,
		refused: &sched.Refused{Attempt: a.id, Refusal: sched.Refusal{Class: sched.Invalid}},
	}, true
}

package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// stopPause is when a gateway that stops is worth asking again: by then another
// has taken its place, or nobody listens.
const stopPause = 5 * time.Second

func stopping() *apiError {
	return overloaded("this gateway is stopping and takes no new requests", stopPause)
}

// refusalOf is the answer for a call that the fleet has none for; nil: the
// client has gone, nobody is to be told. docs/gateway.md has the table, with
// what an SDK makes of each.
func refusalOf(err error) *apiError {
	var (
		waited *flotilla.WaitError
		budget *flotilla.BudgetExceededError
		model  *flotilla.UnknownModelError
		bad    *flotilla.RequestError
		broken *flotilla.TransportError
		moved  *flotilla.RedirectError
	)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.Is(err, flotilla.ErrClosed):
		return overloaded("this gateway stopped before the request was answered", stopPause)
	case errors.Is(err, flotilla.ErrStopped): // by goneOf alone
		return &apiError{status: http.StatusUnauthorized, kind: kindAuthentication, message: "API key is invalid."}
	case errors.As(err, &waited):
		return refuseWait(waited).after(waited.Attempts)
	case errors.As(err, &budget):
		return refuseMoney(budget)
	case errors.As(err, &model):
		return refuseModel(model.Model)
	case errors.As(err, &bad):
		return refuseBody(bad.Err)
	case errors.As(err, &broken) && errors.As(err, &moved):
		return refuseMoved(moved).after(broken.Attempts)
	case errors.As(err, &broken):
		return refuseBroken(broken).after(broken.Attempts)
	case errors.Is(err, flotilla.ErrNoOrg):
		return overloaded("no org of this gateway can be used: "+err.Error(), stopPause)
	}
	return &apiError{
		status: http.StatusInternalServerError, kind: kindAPI,
		message: "the gateway could not carry out the request; its log says why",
	}
}

// refuseWait is for a call that found no room in its time. It says what was
// waited for and when it could have gone (facts/gateways.md, rule 4).
func refuseWait(e *flotilla.WaitError) *apiError {
	class, closed := strings.CutPrefix(e.Class, "closed:")
	switch {
	case e.Class == "overloaded":
		return overloaded("Overloaded: the provider is overloaded or fails (529, 5xx) on every org of this gateway; the request waited as long as it may", e.RetryAfter)
	case e.Class == "paused":
		return overloaded("every org of this gateway that could take the request is paused by its operator", e.RetryAfter)
	case closed && !limits(class):
		return overloaded(fmt.Sprintf("every org of this gateway that could take the request is closed (%s)", class), e.RetryAfter)
	}
	message := "no room for the request in the time it may wait: it was held by the orgs' rate limits or this gateway's caps on calls in flight"
	switch {
	case e.Class == "budget":
		message = "no room for the request in the time it may wait: money of its budget is set aside for other requests, and it or one before it did not fit beside them"
	case closed:
		message = fmt.Sprintf("every org of this gateway that could take the request is closed by a limit (%s)", class)
	}
	return &apiError{
		status: http.StatusTooManyRequests, kind: kindRateLimit, message: message, header: retryAfter(e.RetryAfter),
	}
}

// limits says whether a class of closed lanes is one that a 429 of the API tells of.
func limits(class string) bool {
	switch class {
	case "daily", "spend", "steady", "acceleration", "hidden", "concurrency":
		return true
	}
	return false
}

// refuseMoney is for a call that a cap holds. Where others have only reserved the
// money it may come again; else coming again is no use before somebody moves the
// cap or the day ends, and an SDK that did would hammer us
// (facts/gateways.md, "The contract to implement").
func refuseMoney(e *flotilla.BudgetExceededError) *apiError {
	whose := cmp.Or(e.Name, "the budget")
	message := fmt.Sprintf("%s is used up: %s of %s spent or reserved, and this request may cost %s", whose, exactly(e.Spent), exactly(e.Cap), exactly(e.Needs))
	if e.RetryAfter > 0 {
		if e.Per > 0 {
			whose = "the budget of the day, which all on this journal share (--max-spend N/day),"
		}
		return &apiError{
			status: http.StatusTooManyRequests, kind: kindBilling, header: retryAfter(e.RetryAfter),
			message: fmt.Sprintf("%s is full of what is set aside for other requests, and this one, which may cost %s, waited as long as it may", whose, exactly(e.Needs)),
		}
	}
	if e.Per > 0 { // Cap is what the journal granted of it
		message = fmt.Sprintf("the budget of the day, which all on this journal share (--max-spend N/day), is spent or reserved, and this request may cost %s", e.Needs)
	}
	return spentUp(message)
}

// exactly is an amount to its last digit: rounded ones seem to fit a budget that
// they do not ($0.0084 and $0.01 in $0.02).
func exactly(m flotilla.Money) string {
	text := strings.TrimRight(m.Exact(), "0")
	return "$" + text + strings.Repeat("0", max(0, strings.IndexByte(text, '.')+3-len(text)))
}

// refuseModel begins as the API's own answer does for a model it does not know
// (facts/claude-api.md 1.3).
func refuseModel(model string) *apiError {
	return &apiError{
		status: http.StatusNotFound, kind: kindNotFound,
		message: "model: " + model + " (this gateway knows no price for it, so that no cap could be kept; serve --price adds one)",
	}
}

// refuseBody is for a body that cannot be weighed, in the API's words.
func refuseBody(err error) *apiError {
	var syntax *wire.SyntaxError
	if errors.As(err, &syntax) {
		return invalid("The request body is not valid JSON: " + syntax.Error())
	}
	return invalid(worded(err))
}

// brokenPause is when a call that never reached the provider is worth sending
// again: the fleet has tried all orgs by then.
const brokenPause = 2 * time.Second

// refuseBroken is for a call whose attempts ended without an answer. Where
// nothing was billed the SDK may come again. Where that is unknown it must not
// by itself: each of its retries would be several attempts of ours, each billed.
func refuseBroken(e *flotilla.TransportError) *apiError {
	if !e.InDoubt {
		return overloaded("the provider cannot be reached: "+e.Error(), brokenPause)
	}
	return &apiError{
		status: http.StatusGatewayTimeout, kind: kindTimeout,
		message: "no answer of the provider arrived, and whether the request was billed is unknown: " + e.Error(),
		header:  []string{headerShouldRetry, "false"},
	}
}

// refuseMoved is for a base URL that redirects: no call has another answer before
// a person has set it right.
func refuseMoved(e *flotilla.RedirectError) *apiError {
	return &apiError{
		status: http.StatusBadGateway, kind: kindAPI, message: e.Error(), header: []string{headerShouldRetry, "false"},
	}
}

// after says how many attempts came before an error.
func (e *apiError) after(attempts int) *apiError {
	e.header = append(e.header, headerAttempts, strconv.Itoa(attempts))
	return e
}

// fail answers a request that has no answer of the API's.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	rec := recordOf(r.Context())
	rec.Failed(err)
	if r.Context().Err() != nil {
		return // nobody is there to be told
	}
	if e := refusalOf(err); e != nil {
		rec.Kind = e.kind
		e.write(w)
	}
}

// turnDown answers a request by an error of our own.
func turnDown(w http.ResponseWriter, r *http.Request, e *apiError) {
	recordOf(r.Context()).Kind = e.kind
	e.write(w)
}

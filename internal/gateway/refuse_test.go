package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
)

// What the official SDKs go by: status, type, retry-after, x-should-retry.
func TestRefusalOf(t *testing.T) {
	syntax := wire.Valid([]byte("{x"))
	for name, c := range map[string]struct {
		err                error
		status             int
		kind, after, retry string
		says               string
	}{
		"limits":            {&flotilla.WaitError{Class: "limits", RetryAfter: 1500 * time.Millisecond}, 429, kindRateLimit, "2", "", "rate limits"},
		"behind money":      {&flotilla.WaitError{Class: "budget", RetryAfter: time.Second}, 429, kindRateLimit, "1", "", "set aside for other requests"},
		"no time at all":    {&flotilla.WaitError{Class: "limits"}, 429, kindRateLimit, "1", "", ""},
		"overloaded":        {&flotilla.WaitError{Class: "overloaded", RetryAfter: 30 * time.Second, Attempts: 3}, 529, kindOverloaded, "30", "", "Overloaded"},
		"daily cap":         {&flotilla.WaitError{Class: "closed:daily", RetryAfter: 5 * time.Hour}, 429, kindRateLimit, "18000", "false", "daily"},
		"a key refused":     {&flotilla.WaitError{Class: "closed:auth", RetryAfter: time.Minute}, 529, kindOverloaded, "60", "", "auth"},
		"budget":            {&flotilla.BudgetExceededError{Cap: flotilla.USD(1), Spent: flotilla.USD(.9884), Needs: flotilla.USD(.02)}, 429, kindBilling, "", "false", "the budget is used up: $0.9884 of $1.00 spent or reserved, and this request may cost $0.02"},
		"budget of one":     {&flotilla.BudgetExceededError{Name: budgetOf("bob"), Cap: flotilla.USD(1), Spent: flotilla.USD(.9884), Needs: flotilla.USD(.02)}, 429, kindBilling, "", "false", "the budget of bob for the day is used up: $0.9884 of $1.00 spent or reserved, and this request may cost $0.02"},
		"budget of a day":   {&flotilla.BudgetExceededError{Cap: flotilla.USD(.01), Needs: flotilla.USD(.25), Per: 24 * time.Hour}, 429, kindBilling, "", "false", "--max-spend N/day), is spent or reserved, and this request may cost $0.25"},
		"reserved":          {&flotilla.BudgetExceededError{Name: budgetOf("bob"), Cap: flotilla.USD(1), Spent: flotilla.USD(.99), Needs: flotilla.USD(.02), RetryAfter: 5 * time.Second}, 429, kindBilling, "5", "", "the budget of bob for the day is full of what is set aside for other requests, and this one, which may cost $0.02"},
		"reserved of a day": {&flotilla.BudgetExceededError{Needs: flotilla.USD(.02), Per: 24 * time.Hour, RetryAfter: 5 * time.Second}, 429, kindBilling, "5", "", "--max-spend N/day), is full of what is set aside"},
		"unknown model":     {&flotilla.UnknownModelError{Model: "claude-9"}, 404, kindNotFound, "", "", "model: claude-9"},
		"body":              {&flotilla.RequestError{Err: errors.New("max_tokens: Field required")}, 400, kindInvalid, "", "", "max_tokens: Field required"},
		"JSON":              {&flotilla.RequestError{Err: fmt.Errorf("not valid JSON: %w", syntax)}, 400, kindInvalid, "", "", "The request body is not valid JSON: expected a field name"},
		"never sent":        {&flotilla.TransportError{Err: errors.New("dial")}, 529, kindOverloaded, "2", "", "cannot be reached"},
		"in doubt":          {&flotilla.TransportError{Err: errors.New("reset"), InDoubt: true}, 504, kindTimeout, "", "false", "billed is unknown"},
		"closing":           {fmt.Errorf("line: %w", flotilla.ErrClosed), 529, kindOverloaded, "5", "", "stopped before"},
		"no key is good":    {flotilla.ErrNoOrg, 529, kindOverloaded, "5", "", "no org"},
		"the store is full": {errors.New("database or disk is full: /secret/path"), 500, kindAPI, "", "", "log"},
	} {
		e := refusalOf(c.err)
		if e == nil {
			t.Errorf("%s: nobody is told", name)
			continue
		}
		w := httptest.NewRecorder()
		e.write(w)
		var body errorBody
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err)
		}
		h := w.Result().Header
		if w.Code != c.status || body.Type != "error" || body.Error.Type != c.kind || h.Get("Retry-After") != c.after || h.Get("X-Should-Retry") != c.retry ||
			!strings.Contains(body.Error.Message, c.says) || body.RequestID == "" || body.RequestID != h.Get("Request-Id") {
			t.Errorf("%s: %d %v %s", name, w.Code, h, w.Body)
		}
		if name == "overloaded" && h.Get("X-Flotilla-Attempts") != "3" {
			t.Errorf("%s: %v", name, h)
		}
		if strings.Contains(w.Body.String(), "/secret") {
			t.Errorf("%s: tells %s", name, w.Body)
		}
	}
	for _, gone := range []error{context.Canceled, fmt.Errorf("asking: %w", context.Canceled)} {
		if e := refusalOf(gone); e != nil {
			t.Errorf("%v: %+v", gone, e)
		}
	}
}

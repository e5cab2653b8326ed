package emulator

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// RefusalText is the error that tells a refused exchange: type, error code
// (empty: none) and message, worded after what the provider is known to send
// (facts/claude-api.md 2.4, facts/control.md 0).
func (m *Model) RefusalText(x *Exchange) (kind, code, message string) {
	if x.Class == Overload {
		return "overloaded_error", "", "Overloaded"
	}
	kind = "rate_limit_error"
	switch x.Class {
	case SpendLimit:
		code, message = "enforced_spend_limit_reached", m.spendText(x.At)
	case DailyLimit:
		message = m.dayText(x)
	case Concurrent:
		message = "Number of concurrent connections has exceeded your rate limit. Please try again later."
	case Accelerated:
		code, message = growthText(x)
	default:
		message = m.limitText(x)
	}
	return kind, code, message
}

const plainText = "This request would exceed your account's rate limit. Please try again later."

func (m *Model) spendText(at time.Duration) string {
	now := m.start.Add(at).UTC()
	next := time.Date(now.Year(), now.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	return "You have reached your API usage limits: your organization has crossed its monthly API usage threshold. " +
		"You will regain access on " + next.Format(time.DateOnly) + " at 00:00 UTC."
}

func (m *Model) dayText(x *Exchange) string {
	if !x.Named {
		return plainText
	}
	return fmt.Sprintf("This request would exceed your organization's daily rate limit of %s tokens per day (org: %s, model: %s).",
		thousands(x.lane.org.Daily.Tokens), OrgID(x.lane.org.Name), catalog[x.Model].id)
}

func growthText(x *Exchange) (code, message string) {
	if !x.Named {
		return "", plainText
	}
	message = "This request would exceed your organization's maximum usage increase rate for input tokens per minute. " +
		"Please scale up your input tokens usage more gradually to stay within the acceleration limit."
	if x.CeilingNow > 0 {
		message += fmt.Sprintf(" Your current limit is %s input tokens per minute, and will increase to %s at the next minute boundary.",
			thousands(x.CeilingNow), thousands(x.CeilingNext))
	}
	return "ramp_limit_exceeded", message
}

var dimText = [NumDims]string{"requests", "input tokens", "output tokens", "tokens"}

func (m *Model) limitText(x *Exchange) string {
	if !x.Named {
		return plainText
	}
	whose, limit := "organization", x.lane.workspace.limit
	if x.Dim == Tokens {
		whose = "workspace"
	} else {
		limit = x.lane.dims[x.Dim].limit
	}
	return fmt.Sprintf("This request would exceed your %s's rate limit of %s %s per minute (org: %s, model: %s).",
		whose, thousands(int64(limit)), dimText[x.Dim], OrgID(x.lane.org.Name), catalog[x.Model].id)
}

// thousands writes a number with commas.
func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	var b strings.Builder
	for i, c := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	return b.String()
}

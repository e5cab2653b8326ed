package dashboard

// classWords says what an attempt came to, by Observation.Class.
func classWords(class string) string {
	if text, ok := classTexts[class]; ok {
		return text
	}
	return class
}

var classTexts = map[string]string{
	"steady": "rate-limited", "acceleration": "rate-limited: use grew too fast", "hidden": "rate-limited while headers showed room",
	"concurrency": "rate-limited: too many calls at once", "daily": "rate-limited: the day's tokens are used up",
	"spend": "refused: the org's spend limit is reached", "queue_full": "refused: the batch queue is full", "overloaded": "the provider was overloaded",
	"auth": "the key was not accepted", "permission": "the org may not do this", "credit": "the org has no credit", "hold": "the org is on hold",
	"invalid": "the request was not accepted", "model": "the org has no such model", "server": "the provider failed",
	"conflict": "the provider saw a conflict", "transport": "the connection broke off", "canceled": "broken off by us or the caller",
	"errored": "the row of a batch errored", "expired": "the batch expired before the row's turn",
}

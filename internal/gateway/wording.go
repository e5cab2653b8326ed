package gateway

import (
	"errors"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// inputWords are the API's words for what internal/wire finds wrong with a field
// as the emulator says them, too. Of a field that occurs twice the API takes the
// last one, and has no words: that stays ours.
var inputWords = map[string]string{
	"is not a string":       "Input should be a valid string",
	"is not a number":       "Input should be a valid number",
	"is not a whole number": "Input should be a valid integer",
	"is not true or false":  "Input should be a valid boolean",
	"is negative":           "Input should be greater than or equal to 0",
	"is not a list":         "Input should be a valid array",
}

// worded is what is wrong with a body, as the API says it where it has words for
// it.
func worded(err error) string {
	var body *wire.BodyError
	if errors.As(err, &body) {
		if words, ok := inputWords[body.Fault]; ok {
			return body.Field + ": " + words
		}
	}
	return err.Error()
}

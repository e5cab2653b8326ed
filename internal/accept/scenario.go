package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla/emulator"
)

// The worlds of the arms.
const (
	scenarioName = "default"
	starterName  = "tier-start"
	seed         = 1
)

// verdictTemplate is what the emulator's model says to a judge's prompt.
const verdictTemplate = `{"score": {{int 0 100}}}`

// world is a named scenario whose model gives verdicts.
func world(name string) (emulator.Scenario, error) {
	sc, err := emulator.Named(name)
	sc.Answers = []emulator.AnswerRule{{Template: verdictTemplate}}
	return sc, err
}

// verdictTokens is how many output tokens the emulator counts for a verdict of
// one, two and three digits. Virtual time has no words: there, verdicts are as
// long as the server says.
func verdictTokens(body []byte) (tokens [4]int64, err error) {
	for digits, verdict := range []string{1: "7", 2: "72", 3: "100"} {
		if verdict == "" {
			continue
		}
		sc, err := emulator.Named("steady")
		if err != nil {
			return tokens, err
		}
		sc.Answers = []emulator.AnswerRule{{Template: `{"score": ` + verdict + `}`}}
		if tokens[digits], err = outputOf(sc, body); err != nil {
			return tokens, fmt.Errorf("asking how long a verdict is: %w", err)
		}
	}
	return tokens, nil
}

// outputOf is how many output tokens the answer to a body has in a scenario.
func outputOf(sc emulator.Scenario, body []byte) (int64, error) {
	server, err := emulator.New(emulator.Options{Scenario: sc, Seed: seed, Speed: 100})
	if err != nil {
		return 0, err
	}
	defer server.Close()
	url, err := server.Listen("127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	req, err := request(http.MethodPost, url+"/v1/messages", emulator.Key("high"), bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", resp.Status, answer)
	}
	return gjson.GetBytes(answer, "usage.output_tokens").Int(), err
}

// request is one of a client that knows of nothing but the API.
func request(method, url, key string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequest(method, url, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Api-Key", key)
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("Content-Type", "application/json")
	return req, nil
}

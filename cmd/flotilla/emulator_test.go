package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// postJSON posts to an emulator's own endpoints.
func postJSON(url, body string) error {
	resp, err := http.Post(url, "application/json", strings.NewReader(body)) //nolint:noctx // a loopback server of the test
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s: %s: %s", url, resp.Status, text)
	}
	return nil
}

// statsOf reads an emulator's stats; numbers stay as they are spelled.
func statsOf(url string) (map[string]any, error) {
	resp, err := http.Get(url + "/emulator/stats") //nolint:noctx // a loopback server of the test
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var all map[string]any
	dec := json.NewDecoder(resp.Body)
	dec.UseNumber()
	return all, dec.Decode(&all)
}

package main

import (
	"fmt"
	"net/http"
	"os"
	"regexp"

	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/flotilla-llm/flotilla"
)

// inProcess lets the SDK send through a fleet in this process, with the SDK's
// retries off, since the fleet has its own; nil: by its own client.
var inProcess []option.RequestOption

// elsewhere are checks that mean nothing there: batches are not passed on, keys
// of callers are not looked at, paths are refused in words of its own, and there
// is no header by which to wait less.
var elsewhere = regexp.MustCompile(`^batch_|wrong_key|bearer|unknown_path|overloaded`)

// sendInProcess makes that fleet, where CONFORMANCE_TRANSPORT is set: of all
// orgs of the emulator, without a server between.
func sendInProcess() error {
	if os.Getenv("CONFORMANCE_TRANSPORT") == "" {
		return nil
	}
	c := flotilla.Config{BaseURL: emulator}
	for _, name := range []string{"high", "batch", "low"} {
		c.Orgs = append(c.Orgs, flotilla.Org{Name: name, Key: flotilla.Key("sk-ant-emulated-" + name)})
	}
	fleet, err := flotilla.New(c)
	if err != nil {
		return fmt.Errorf("making a fleet: %w", err)
	}
	baseURL = "https://nobody.invalid" // where requests go is the fleet's business
	inProcess = []option.RequestOption{option.WithHTTPClient(&http.Client{Transport: fleet.Transport()}), option.WithMaxRetries(0)}
	return nil
}

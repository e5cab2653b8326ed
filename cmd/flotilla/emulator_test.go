package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
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

// syncMap is a map that scripts running side by side share.
type syncMap[V any] struct {
	mu sync.Mutex
	m  map[string]V
}

func (s *syncMap[V]) set(key string, v V) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		s.m = map[string]V{}
	}
	s.m[key] = v
}

func (s *syncMap[V]) get(key string) V {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.m[key]
}

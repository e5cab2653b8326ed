package emulator

import "strings"

// covers says whether a fault is about a method and path. Its path covers
// itself and everything below, but for "/v1/messages", which is that endpoint
// alone; a segment in braces, "/v1/messages/batches/{id}/results", stands for
// any, and "{$}" at the end for nothing below: "/v1/messages/batches/{$}" is
// create and list.
func (f *faultSpec) covers(method, path string) bool {
	if f.Method != "" && !strings.EqualFold(f.Method, method) {
		return false
	}
	if f.Path == "" || f.Path == path {
		return true
	}
	if f.Path == "/v1/messages" {
		return false
	}
	want, got := strings.Split(strings.TrimSuffix(f.Path, "/"), "/"), strings.Split(path, "/")
	if last := len(want) - 1; want[last] == "{$}" {
		want = want[:last]
		if len(got) > len(want) {
			return false
		}
	}
	if len(got) < len(want) {
		return false
	}
	for i, segment := range want {
		if segment != got[i] && !strings.HasPrefix(segment, "{") {
			return false
		}
	}
	return true
}

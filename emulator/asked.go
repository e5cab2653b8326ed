package emulator

import (
	"strings"

	"github.com/tidwall/gjson"
)

// asked is what, beside the arrival, shapes the words of an answer. It keeps
// nothing of the body alive.
type asked struct {
	prompt string   // for answer rules; empty where the scenario has none
	first  string   // the first message, for rules that look at it; empty where none does
	stops  []string // stop_sequences that are not empty
	forced string   // the tool that tool_choice wants called; "": none
	input  string   // that an answer without a rule gives it, as JSON
	tools  []string // names, for rules that call one; nil where no rule does
}

// asked is what the request adds to what rules of the scenario say.
func (w *world) asked(r *request) asked {
	a := asked{stops: r.stopSequences()}
	if tool, ok := r.forcedTool(); ok {
		a.forced, a.input = strings.Clone(tool.Get("name").Str), string(appendSample(nil, tool.Get("input_schema")))
	}
	if len(w.rules) == 0 {
		return a
	}
	a.prompt = strings.Clone(r.prompt())
	if w.looksBack() {
		a.first = strings.Clone(messageText(r.messages.Get("0")))
	}
	if w.callsTools() && r.toolChoice.Get("type").Str != "none" {
		r.tools.ForEach(func(_, t gjson.Result) bool {
			a.tools = append(a.tools, strings.Clone(t.Get("name").Str))
			return true
		})
	}
	return a
}

// shapes says whether the words are other than filler of the drawn length.
func (a *asked) shapes(w *world) bool {
	return len(w.rules) > 0 || len(a.stops) > 0 || a.forced != ""
}

func (r *request) stopSequences() (stops []string) {
	r.stops.ForEach(func(_, s gjson.Result) bool {
		if s.Str != "" {
			stops = append(stops, strings.Clone(s.Str))
		}
		return true
	})
	return stops
}

// forcedTool finds the tool that tool_choice wants called: the named one, or
// the first for "any".
func (r *request) forcedTool() (tool gjson.Result, ok bool) {
	kind, name := r.toolChoice.Get("type").Str, r.toolChoice.Get("name").Str
	if kind != "tool" && kind != "any" {
		return tool, false
	}
	r.tools.ForEach(func(_, t gjson.Result) bool {
		if kind == "any" || t.Get("name").Str == name {
			tool, ok = t, true
		}
		return !ok
	})
	return tool, ok
}

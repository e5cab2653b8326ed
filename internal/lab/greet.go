package lab

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Greet asks every org for its id by the free read of one model, and writes
// down what the answers say: ids, which keys are of one org, the emulator's mark
// and, for an emulator, where its clock stands. Orgs whose key is refused are
// taken out; the lines say why. The error is that no org is left, or that the
// emulator's clock runs at another speed.
func Greet(ctx context.Context, env *Env) (lines []string, err error) {
	var usable []Org
	first := map[string]string{}
	for i := range env.Orgs {
		o := env.Orgs[i]
		h, err := greetOne(ctx, env, &o)
		if err != nil {
			lines = append(lines, fmt.Sprintf("%s is left out: %s", o.Name, err))
			continue
		}
		if err := env.takeMark(h); err != nil {
			return lines, err
		}
		o.ID = h.Get("anthropic-organization-id")
		if same, ok := first[o.ID]; ok && o.ID != "" {
			o.SameAs = same
			lines = append(lines, fmt.Sprintf("%s is a second key of the org of %s: it has no limits of its own", o.Name, same))
		} else {
			first[o.ID] = o.Name
		}
		usable = append(usable, o)
	}
	env.Orgs = usable
	if len(usable) == 0 {
		return lines, errors.New("no org can be reached with the keys there are")
	}
	return lines, nil
}

func greetOne(ctx context.Context, env *Env, o *Org) (http.Header, error) {
	l := env.link(o)
	defer l.close()
	var reply struct{}
	h, err := l.askJSON(ctx, 20*time.Second, "/v1/models", url.Values{"limit": {"1"}}, &reply)
	if err != nil {
		b := Bench{env: env}
		return nil, errors.New(b.redact(err))
	}
	if h.Get(ourHeader) != "" {
		return nil, errors.New("the base URL is a flotilla gateway: its limits are not the provider's")
	}
	return h, nil
}

// takeMark notes that an emulator answers, and its time.
func (e *Env) takeMark(h http.Header) error {
	mark := h.Get(emulatedHeader)
	if mark == "" {
		return nil
	}
	e.Emulated = mark
	speed := 1.0
	if s, err := strconv.ParseFloat(h.Get(speedHeader), 64); err == nil && s > 0 {
		speed = s
	}
	if e.Speed == 0 {
		e.Speed = speed
	}
	if speed != e.speed() {
		return fmt.Errorf("the emulator runs at speed %g, this client at %g", speed, e.speed())
	}
	if d, err := http.ParseTime(h.Get("Date")); err == nil && e.Start.IsZero() {
		e.Start = d
	}
	return nil
}

package flotilla

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/flotilla-llm/flotilla/internal/wire"
)

// WeighAs is Weigh for a request that carries an anthropic-version and betas of
// its own, which are part of its Facts.Hash. An empty version is the fleet's;
// the order of betas makes no difference. A body that lacks a field without which
// it cannot be weighed is a *RequestError in the API's words.
func (f *Fleet) WeighAs(body []byte, version string, betas []string) (Facts, error) {
	return f.weigh(body, f.keyers.of(version, betas), true)
}

// WeighCall is WeighAs without the hashes, which are most of the work for a large
// body: for calls whose answers nobody keeps by them. Facts.Hash and Facts.Body
// are zero.
func (f *Fleet) WeighCall(body []byte) (Facts, error) { return f.weigh(body, nil, true) }

// weigh reads the facts of a body, hashed by a Keyer, where there is one.
func (f *Fleet) weigh(body []byte, keyer *wire.Keyer, whole bool) (Facts, error) {
	w, err := wire.Parse(body)
	if err != nil {
		return Facts{}, err
	}
	if field := w.Missing(); field != "" && whole {
		return Facts{}, &RequestError{Err: errors.New(field + ": Field required")}
	}
	m, ok := f.prices.Lookup(w.Model)
	if !ok {
		return Facts{}, &UnknownModelError{Model: w.Model}
	}
	return f.facts(&w, m, body, keyer), nil
}

// maxKeyers bounds the Keyers that are held: clients choose their betas, and a
// Keyer is cheap to make.
const maxKeyers = 64

// keyers holds a Keyer for each version and set of betas that was asked for.
type keyers struct {
	provider, version string // the fleet's

	mu   sync.Mutex
	made map[string]*wire.Keyer
}

func (k *keyers) of(version string, betas []string) *wire.Keyer {
	if version == "" {
		version = k.version
	}
	if len(betas) > 1 {
		betas = slices.Sorted(slices.Values(betas))
	}
	name := version + "\x00" + strings.Join(betas, "\x00")
	k.mu.Lock()
	defer k.mu.Unlock()
	got := k.made[name]
	if got == nil {
		if k.made == nil || len(k.made) >= maxKeyers {
			k.made = map[string]*wire.Keyer{}
		}
		got = wire.NewKeyer(k.provider, version, betas)
		k.made[name] = got
	}
	return got
}

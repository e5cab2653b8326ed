package job

import (
	"context"
	"testing"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/internal/wire"
	"github.com/flotilla-llm/flotilla/price"
)

// scales weigh bodies as a Fleet does.
type scales struct{ keyer *wire.Keyer }

func newScales() *scales {
	return &scales{wire.NewKeyer("https://api.anthropic.com", flotilla.DefaultVersion, nil)}
}

func (s *scales) Weigh(body []byte) (flotilla.Facts, error) {
	f, err := wire.Parse(body)
	if err != nil {
		return flotilla.Facts{}, err
	}
	m, ok := price.Published().Lookup(f.Model)
	if !ok {
		return flotilla.Facts{}, &flotilla.UnknownModelError{Model: f.Model}
	}
	canonical := wire.Canonical(nil, body)
	return flotilla.Facts{
		Model: f.Model, Pool: m.Pool, Family: m.Family(), MaxTokens: int(f.MaxTokens),
		In: int(f.In(m.TokenFactor())), Worst: m.Worst(f.InUpper(), f.MaxTokens, f.Cache5m, f.Cache1h, false, false, false),
		Hash: s.keyer.Key(canonical), Body: wire.BodyHash(canonical), Shape: f.Shape, Stream: f.Stream, Metered: f.Metered, Size: len(body), Alone: f.Alone,
	}, nil
}

func published() checker {
	return checker{prices: price.Published(), version: flotilla.DefaultVersion}
}

// indexOf runs the index pass over files.
func indexOf(t testing.TB, shape Shape, skipBad bool, files ...string) (*index, error) {
	t.Helper()
	build, err := newBuilder(&shape)
	if err != nil {
		return nil, err
	}
	var inputs []*input
	for _, name := range files {
		in, err := openInput(name, nil, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = in.close() })
		inputs = append(inputs, in)
	}
	s := newScan(build, inputs, newScales(), published())
	s.skipBad = skipBad
	s.x.columns = &columns{}
	return s.x, s.run(context.Background())
}

package lab

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/flotilla-llm/flotilla"
	"github.com/flotilla-llm/flotilla/price"
)

// Env is what experiments are run with. It does not change while one runs.
type Env struct {
	Orgs   []Org
	Prices *price.Table // nil: price.Published

	BaseURL string   // of orgs that have none of their own
	Version string   // anthropic-version; empty: 2023-06-01
	Betas   []string // anthropic-beta
	Build   string   // of this program, for provenance

	Seed   uint64 // of prompts, order and arrivals
	Window string // names when this was measured: peak, off-peak …; empty: "any"

	Emulated string    // "scenario/seed" where an emulator answers; empty: the provider
	Speed    float64   // scaled seconds in a real one, against an emulator; 0: 1
	Start    time.Time // scaled time at the beginning; zero: the machine's

	Conc     map[string]int // etiquette caps by family; a family that is missing has flotilla.DefaultConc
	OverCap  int            // where it is above a family's cap it replaces it, with consent; 0: no
	Soft     float64        // soft floor, a share of the capacity; 0: 0.10
	MaxSpend price.Nanos    // of one experiment; 0: no cap
	Snapshot bool           // batch-cliff: look at a fixed age by cancelling

	Dir   string       // of result files; empty: eval_results/api_throughput
	Known []*Result    // stored results of earlier experiments, to start from
	Log   func(string) // a line for people as things happen; nil: nobody reads

	// Transport sends an org's requests; nil: HTTP with the environment's proxy.
	Transport func(o *Org) http.RoundTripper
}

// Org is one organisation with what is known of it beforehand.
type Org struct {
	Name    string
	Key     flotilla.Key
	Admin   flotilla.Key // of the same org; empty: none
	BaseURL string       // empty: Env.BaseURL
	ID      string       // anthropic-organization-id; empty: not known yet
	SameAs  string       // the first org of the same id: experiments leave this one out

	NoSync, NoBatch bool // tiers the key is not for

	Limits     map[string]flotilla.Limits // by pool, each with its source; a missing one is not known
	BatchQueue int64                      // rows that may be in processing; 0: not known
	BatchRPM   float64                    // requests a minute to batch endpoints; 0: not known
}

// defaultDir is where results are kept (issue: eval_results/api_throughput).
const defaultDir = "eval_results/api_throughput"

// softFloor is the share of a bucket that is colleagues' (facts/control.md B.4).
const softFloor = 0.10

func (e *Env) table() *price.Table {
	if e.Prices == nil {
		return price.Published()
	}
	return e.Prices
}

func (e *Env) version() string { return cmp.Or(e.Version, "2023-06-01") }
func (e *Env) dir() string     { return cmp.Or(e.Dir, defaultDir) }
func (e *Env) window() string  { return cmp.Or(e.Window, "any") }
func (e *Env) soft() float64   { return cmp.Or(e.Soft, softFloor) }
func (e *Env) speed() float64  { return cmp.Or(e.Speed, 1) }

func (e *Env) log(line string) {
	if e.Log != nil {
		e.Log(line)
	}
}

// Distinct are the orgs that have buckets of their own: without second keys of
// one org.
func (e *Env) Distinct() []*Org {
	var orgs []*Org
	for i := range e.Orgs {
		if e.Orgs[i].SameAs == "" {
			orgs = append(orgs, &e.Orgs[i])
		}
	}
	return orgs
}

// Syncing are the distinct orgs that may be used for Messages.
func (e *Env) Syncing() []*Org {
	return slices.DeleteFunc(e.Distinct(), func(o *Org) bool { return o.NoSync })
}

// Batching are the distinct orgs that may be used for batches.
func (e *Env) Batching() []*Org {
	return slices.DeleteFunc(e.Distinct(), func(o *Org) bool { return o.NoBatch })
}

// Org finds an org by name; nil: there is none.
func (e *Env) Org(name string) *Org {
	i := slices.IndexFunc(e.Orgs, func(o Org) bool { return o.Name == name })
	if i < 0 {
		return nil
	}
	return &e.Orgs[i]
}

// Model finds a model of the price table; ok is false for one it lacks.
func (e *Env) Model(name string) (price.Model, bool) { return e.table().Lookup(name) }

// Cap is how many calls of a model's family one org may have in flight: the
// etiquette cap, or OverCap where that is higher.
func (e *Env) Cap(model string) int {
	family := price.FamilyOf(model)
	n, ok := e.Conc[family]
	if !ok {
		n = flotilla.DefaultConc(family)
	}
	return max(n, e.OverCap)
}

// Cheap is the model experiments of structure use: the cheapest active one of
// the pool haiku-4.5, else of the table (facts/control.md E.2: "at Haiku price").
func (e *Env) Cheap() price.Model {
	const name = "claude-haiku-4-5"
	if m, ok := e.Model(name); ok && m.Status == price.Active {
		return m
	}
	var best price.Model
	for _, m := range e.table().Models() {
		if m.Status == price.Active && m.Priced() && (best.ID == "" || m.Prices.In < best.Prices.In) {
			best = m
		}
	}
	return best
}

// seedFor is a seed of its own for one purpose.
func (e *Env) seedFor(purpose string, i uint64) uint64 {
	h := e.Seed ^ 0x9e3779b97f4a7c15
	for _, c := range []byte(purpose + "/" + strconv.FormatUint(i, 10)) {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return h
}

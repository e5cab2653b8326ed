package emulator

import (
	"regexp"
	"strconv"
	"sync"
	"time"
)

// world is one life of the server's model: a reset makes another. Exchanges of
// an old world end in it.
type world struct {
	began time.Duration // on the server's clock
	mark  []string      // value of flotilla-emulated
	orgs  []orgIdentity
	rules []rule

	mu      sync.Mutex // guards what follows
	model   *Model
	unknown int64 // requests to /v1/messages with no key of ours
	faults  faults
	calls   uint64 // to batch endpoints
}

// orgIdentity is what responses say of an org, as header values that are
// shared by all of them.
type orgIdentity struct{ id, workspace []string }

// rule is an answer rule ready for use.
type rule struct {
	AnswerRule
	match *regexp.Regexp
}

func newWorld(sc Scenario, seed uint64, began time.Duration, start time.Time) (*world, error) {
	if err := sc.Check(); err != nil {
		return nil, err
	}
	w := &world{
		began: began,
		mark:  []string{sc.Name + "/" + strconv.FormatUint(seed, 10)},
		model: NewModel(sc, seed, start),
	}
	for _, o := range sc.Orgs {
		w.orgs = append(w.orgs, orgIdentity{id: []string{OrgID(o.Name)}, workspace: []string{workspaceID(o.Name)}})
	}
	for _, r := range sc.Answers {
		compiled, err := newRule(r)
		if err != nil {
			return nil, err
		}
		w.rules = append(w.rules, compiled)
	}
	return w, nil
}

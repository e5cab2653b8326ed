package lab

// Bench carries out an experiment's calls.
type Bench struct {
	env   *Env
	clock *Clock
}

// Env is what the experiment is run with.
func (b *Bench) Env() *Env { return b.env }

// Clock is the experiment's time.
func (b *Bench) Clock() *Clock { return b.clock }

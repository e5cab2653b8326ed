package lab

// All are the experiments there are, in the order in which they are best run:
// what is free or nearly so first, what later ones build upon before them.
func All() []Experiment {
	return []Experiment{
		Limits(),
		Callable(),
		AdditivitySync(),
		Refill(),
		Acceleration(),
		Knee(),
		Fanout(),
		BatchDepth(),
		BatchSize(),
		BatchCliff(),
		BatchAdditivity(),
		BatchMechanism(),
		Latency(),
	}
}

// Find finds an experiment by name; nil: there is none.
func Find(name string) Experiment {
	for _, x := range All() {
		if x.Name() == name {
			return x
		}
	}
	return nil
}

package lab

import "github.com/flotilla-llm/flotilla"

// Learn fills what is not known of the orgs from stored results of the same
// provider (Known): limits as read, batch queues. What an emulator said counts
// for that emulator alone.
func (e *Env) Learn() {
	for _, r := range e.Known {
		if r.Experiment != "limits" || r.Emulated != e.Emulated || e.Emulated == "" && r.BaseURL != e.BaseURL {
			continue
		}
		for i := range r.Metrics {
			if o := e.Org(r.Metrics[i].Org); o != nil {
				o.learn(&r.Metrics[i])
			}
		}
	}
}

// learn takes one number of the experiment limits.
func (o *Org) learn(m *Metric) {
	switch m.Name {
	case "batch_queue":
		o.BatchQueue = int64(m.Value)
		return
	case "batch_rpm":
		o.BatchRPM = m.Value
		return
	}
	if o.Limits == nil {
		o.Limits = map[string]flotilla.Limits{}
	}
	l := o.Limits[m.Pool]
	switch m.Name {
	case "rpm":
		l.Requests = m.Value
	case "itpm":
		l.Input = m.Value
	case "otpm":
		l.Output = m.Value
	default:
		return
	}
	l.Source = m.Source
	o.Limits[m.Pool] = l
}

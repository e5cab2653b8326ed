package sched

type hedgeState struct{}

func (c *Core) hedge() {}

package job

import (
	"github.com/tidwall/gjson"

	"github.com/flotilla-llm/flotilla"
)

// addReport joins the reports of the parts of a run. Bounds add up, quantiles are
// those of the part with the most attempts.
func addReport(total, part flotilla.Report) flotilla.Report {
	if total.Started.IsZero() {
		return part
	}
	if part.P95 == 0 || part.Attempts < total.Attempts && total.P95 != 0 {
		part.P50, part.P95, part.P99 = total.P50, total.P95, total.P99
	}
	part.Started = total.Started
	part.RealWall += total.RealWall
	part.Attempts += total.Attempts
	part.Hedges += total.Hedges
	part.HedgeCost += total.HedgeCost
	part.FailedCost += total.FailedCost
	part.InDoubt += total.InDoubt
	part.TransportErrors += total.TransportErrors
	part.Bound += total.Bound
	part.PoliteBound += total.PoliteBound
	for i := range part.Lanes {
		for j := range total.Lanes {
			if l, o := &part.Lanes[i], &total.Lanes[j]; l.Org == o.Org && l.Pool == o.Pool && l.Tier == o.Tier {
				addLane(l, o)
			}
		}
	}
	return part
}

func addLane(l, o *flotilla.LaneReport) {
	if l.P95 == 0 || l.Attempts < o.Attempts && o.P95 != 0 {
		l.P50, l.P95 = o.P50, o.P95
	}
	for _, n := range []struct {
		to   *int
		more int
	}{
		{&l.N, o.N},
		{&l.Succeeded, o.Succeeded},
		{&l.Attempts, o.Attempts},
		{&l.Steady, o.Steady},
		{&l.Acceleration, o.Acceleration},
		{&l.Hidden, o.Hidden},
		{&l.Concurrency, o.Concurrency},
		{&l.Daily, o.Daily},
		{&l.Spend, o.Spend},
		{&l.QueueFull, o.QueueFull},
		{&l.Overloaded, o.Overloaded},
		{&l.Auth, o.Auth},
		{&l.Permission, o.Permission},
		{&l.Credit, o.Credit},
		{&l.Hold, o.Hold},
	} {
		*n.to += n.more
	}
	l.Cost += o.Cost
	l.Peak = max(l.Peak, o.Peak)
	l.SoftFloor += o.SoftFloor
	l.HardFloor += o.HardFloor
}

// outputTokens is what a Message says it took to write.
func outputTokens(message []byte) int64 {
	return gjson.GetBytes(message, "usage.output_tokens").Int()
}

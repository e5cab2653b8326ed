package main

import "github.com/flotilla-llm/flotilla"

// perMinute are requests, input and output tokens a minute.
type perMinute [3]float64

// usageTiers are the published limits by usage tier (facts/claude-api.md 3.2;
// the provider's rate-limits page, August 2026, and for the 5.5 and Fable rows
// October 2026). "like" pools share the figures of the first.
var usageTiers = []struct {
	pools               []string
	start, build, scale perMinute
}{
	{
		[]string{"opus-5.5", "opus-5", "opus-4.x", "sonnet-5.5", "sonnet-5", "sonnet-4.x", "haiku-5.5", "haiku-4.5"},
		perMinute{1_000, 2_000_000, 400_000},
		perMinute{5_000, 5_000_000, 1_000_000},
		perMinute{10_000, 10_000_000, 2_000_000},
	},
	{
		[]string{"fable-5.x"},
		perMinute{1_000, 500_000, 100_000},
		perMinute{2_000, 1_500_000, 300_000},
		perMinute{4_000, 4_000_000, 800_000},
	},
}

// batchLimits bound all batches of an org together.
type batchLimits struct {
	queue int64   // rows that may be in processing; 0: unknown
	rpm   float64 // requests a minute over all batch endpoints; 0: unknown
}

// batchTiers are the batch limits by usage tier (facts/claude-api.md 3.2).
var batchTiers = map[string]batchLimits{"start": {200_000, 1000}, "build": {300_000, 2000}, "scale": {500_000, 4000}}

// tierLimits are the limits by pool of a usage tier. "custom" is a tier
// without published figures.
func tierLimits(tier string) (map[string]flotilla.Limits, bool) {
	limits := map[string]flotilla.Limits{}
	for _, row := range usageTiers {
		var v perMinute
		switch tier {
		case "start":
			v = row.start
		case "build":
			v = row.build
		case "scale":
			v = row.scale
		case "custom":
			return nil, true
		default:
			return nil, false
		}
		for _, pool := range row.pools {
			limits[pool] = flotilla.Limits{Requests: v[0], Input: v[1], Output: v[2], Source: "published table, usage tier " + tier}
		}
	}
	return limits, true
}
